#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/core/file.h"
#include "fmd/formats/safetensors.h"
#include "fmd/language/language_model.h"

namespace fmd::internal {

// The tensors of a model's folder: model.safetensors, or the shards that
// model.safetensors.index.json names. Only heads are read until a tensor is asked for.
class WeightFiles {
 public:
  // Throws Error(bad_model): no weights, a missing shard, a tensor that is not where the
  // index says.
  [[nodiscard]] static WeightFiles open(const std::filesystem::path& folder);

  struct Place {
    std::shared_ptr<const InputFile> file;
    std::string shard;  // plain name
    SafetensorsHead::Place at;
  };
  [[nodiscard]] const Place* find(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, Place>& tensors() const { return tensors_; }

  // As float32, from F32, F16, BF16 or F64. Throws Error(bad_model) where the tensor is
  // missing, has another shape, or holds numbers that are not finite.
  [[nodiscard]] FloatMatrix matrix(const std::string& name, Index rows, Index cols) const;
  [[nodiscard]] std::vector<float> vector(const std::string& name, Index size) const;

  // SHA-256 over names, shapes and bytes of all tensors but these.
  [[nodiscard]] Hash hash_without(const std::vector<std::string>& names) const;

 private:
  void add_shard(const std::filesystem::path& path, const std::string& shard);
  void read_numbers(const std::string& name, const std::vector<Index>& shape,
                    float* into) const;
  std::string folder_;
  std::map<std::string, Place> tensors_;
};

}  // namespace fmd::internal
