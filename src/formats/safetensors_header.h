#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// What a safetensors header says, before any of it is checked against the file.
struct SafetensorsHeader {
  struct Entry {
    std::string dtype;
    std::vector<Index> shape;
    std::vector<Index> offsets;
  };
  std::map<std::string, std::string> metadata;
  std::map<std::string, Entry> entries;
};

// Throws Error(bad_model): not JSON, not UTF-8, too deep, a name twice, a key that is
// missing, unknown or of the wrong kind, numbers that are not sizes.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json,
                                                         const std::string& source);

}  // namespace fmd::internal
