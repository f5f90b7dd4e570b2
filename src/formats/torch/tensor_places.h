#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Where a tensor that a module holds has its numbers.
struct TensorPlace {
  std::string type;     // "FloatStorage", "DoubleStorage", ...
  std::string storage;  // name of the file in the archive's folder data/
  Index offset = 0;     // first number in it
  std::vector<Index> sizes, strides;
  bool shared = false;  // another tensor has numbers in the same file, or is this one
};

// The tensors among the attributes of a saved module, by the names from the module down,
// joined by dots. Reads the pickle that TorchScript writes as data: objects, their
// attributes and tensors. Nothing is executed and no class is looked up. Throws
// Error(bad_model) for anything else.
[[nodiscard]] std::map<std::string, TensorPlace> tensor_places(
    std::span<const std::uint8_t> pickle, const std::string& source);

}  // namespace fmd::internal
