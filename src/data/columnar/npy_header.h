#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/data/npy.h"

namespace fmd::internal {

struct NpyField {
  std::string name;  // "" when the array is not structured
  NpyType type;
};

struct NpyHeader {
  std::vector<NpyField> fields;
  bool fortran = false;
  std::vector<Index> shape;
  std::size_t data = 0;  // where the numbers begin
};

// Throws what parse_npy throws.
[[nodiscard]] NpyHeader read_npy_header(std::span<const std::uint8_t> bytes,
                                        const std::string& source);

}  // namespace fmd::internal
