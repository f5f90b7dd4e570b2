#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/internal.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// The keys of two tables as texts that are equal where the keys are equal. When either
// column was read as numbers, both are compared as numbers; otherwise "007" and "7" are two
// keys. Throws Error(bad_data) for a missing key.
struct Keys {
  std::vector<std::string> left, right;
};
[[nodiscard]] Keys read_keys(const Table& left, const Table& right,
                             const std::string& column);

// The row of each key. Throws Error(bad_data) that names both rows when a key appears
// twice. For look-ups only: where an order shows in a result, std::map is used.
[[nodiscard]] std::unordered_map<std::string, Index> index_keys(
    const std::vector<std::string>& keys, const Table& table, const std::string& column);

}  // namespace fmd::internal
