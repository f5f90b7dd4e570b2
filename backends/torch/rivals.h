#pragma once

#include <map>
#include <memory>
#include <string>
#include <torch/optim.h>
#include <torch/serialize.h>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "network.h"

namespace fmd::torch_plugin {

// What a training is given.
struct Plan {
  nlohmann::json settings;
  at::Tensor X, y, a;     // rows x columns float; labels and attribute, long
  at::Tensor directions;  // each row: a direction in which answers must not change
  std::int64_t classes = 0, groups = 0;
  Draws draws{1};

  [[nodiscard]] double number(const char* name, double otherwise) const {
    return settings.value(name, otherwise);
  }
  [[nodiscard]] std::vector<std::int64_t> widths(std::int64_t outputs) const;
};

struct Batch {
  at::Tensor rows, x, y, a;  // rows: which of the plan's
  std::int64_t step = 0;     // steps before this one
};

// W and b of the dense layers of a trained network, the lowest first.
using Layers = std::vector<std::pair<at::Tensor, at::Tensor>>;

// One method of training.
class Rival {
 public:
  explicit Rival(const Plan& plan) : plan_(plan) {}
  virtual ~Rival() = default;
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;

  // One step on a batch; the loss before it.
  [[nodiscard]] virtual double step(const Batch& batch) = 0;
  [[nodiscard]] virtual Layers layers() const = 0;
  // Rows of a step; by default those of the epoch's random order.
  [[nodiscard]] virtual at::Tensor draw(std::int64_t step, std::int64_t size) const;
  // Sets the step size as the plan says: from step rate_from on, every rate_every steps it
  // is multiplied by rate_factor.
  void set_rate(std::int64_t step);
  // All that a later step depends on.
  void save(torch::serialize::OutputArchive& archive) const;
  void load(torch::serialize::InputArchive& archive);

 protected:
  // A network of the plan's shape.
  [[nodiscard]] std::shared_ptr<Dense> network(const std::string& name,
                                               const std::vector<std::int64_t>& widths,
                                               bool relu_at_end = false);
  [[nodiscard]] std::shared_ptr<Dense> network(const std::string& name);
  [[nodiscard]] torch::optim::Optimizer& optimizer(std::vector<at::Tensor> parameters,
                                                   bool sgd = false);
  void keep(const std::string& name, at::Tensor& state) { kept_[name] = &state; }
  // One step of an optimiser down a loss; the loss.
  double descend(torch::optim::Optimizer& optimizer, const at::Tensor& loss) const;
  const Plan& plan() const { return plan_; }

 private:
  const Plan& plan_;
  std::uint64_t networks_ = 0;
  std::map<std::string, std::shared_ptr<torch::nn::Module>> modules_;
  std::vector<std::unique_ptr<torch::optim::Optimizer>> optimizers_;
  std::map<std::string, at::Tensor*> kept_;
};

// By its name: plain, groupdro, lff, ldr, rebias, sensr, sensei. The plan must outlive it.
// Throws std::runtime_error for another name.
[[nodiscard]] std::unique_ptr<Rival> make_rival(const std::string& name, const Plan& plan);

}  // namespace fmd::torch_plugin
