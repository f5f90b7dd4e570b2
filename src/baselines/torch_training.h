#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/baselines/baseline.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"
#include "model/torch_abi.h"

namespace fmd::internal {

// What a network is trained on, as the plug-in of PyTorch takes it.
struct TorchRows {
  std::vector<float> X, directions;  // rows x cols; directions of the fair distance x cols
  std::vector<std::int32_t> y, a;    // a: empty for methods that do not know the attribute
  Index cols = 0;

  [[nodiscard]] Index size() const { return std::ssize(y); }
  [[nodiscard]] FmdTorchRows view() const;
};

// A training by the plug-in of PyTorch. settings: JSON, see model/torch_abi.h. The rows
// must outlive it. Throws Error(unsupported: the plug-in is absent), Error(bad_data: what
// PyTorch says).
class TorchTraining {
 public:
  TorchTraining(std::string name, std::string settings, const TorchRows& rows,
                const Exec& exec);
  ~TorchTraining();
  TorchTraining(const TorchTraining&) = delete;
  TorchTraining& operator=(const TorchTraining&) = delete;

  // Runs all steps. Where `folder` is given, the state is written there twenty times and
  // at least twice a minute, and read again: a run that was stopped goes on to the same
  // bits. Ten times the figures of `watch` are noted. Throws Error(cannot_write: the
  // checkpoint; the one before stays), Error(bad_data: a checkpoint that cannot be read).
  void run(Index steps, const std::filesystem::path& folder,
           const std::function<std::vector<double>()>& watch, const Exec& exec);
  // The whole training's, also where it was stopped and taken up again.
  [[nodiscard]] const NetworkNote& note() const { return note_; }

  // The trained network as a head of ours; for networks of dense layers.
  [[nodiscard]] std::pair<std::shared_ptr<const Head>, Vector> network();
  // Its logits for some rows; for any network.
  [[nodiscard]] Matrix logits(std::span<const float> X, Index rows, Index classes);

 private:
  [[noreturn]] void failed() const;
  int layer(std::int32_t index, Index& outputs, Index& inputs, double* into);
  [[nodiscard]] std::string file_name(Index steps) const;
  [[nodiscard]] Index resume(const std::filesystem::path& file);
  void save(const std::filesystem::path& file, Index done);

  const FmdTorch* table_ = nullptr;
  void* it_ = nullptr;
  std::string name_, settings_;
  const TorchRows& rows_;
  NetworkNote note_;
  mutable std::array<char, 2048> message_{};
};

}  // namespace fmd::internal
