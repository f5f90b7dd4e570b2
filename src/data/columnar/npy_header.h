#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/core/file.h"
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

// From the first bytes of a file, its whole header among them. Throws what parse_npy
// throws.
[[nodiscard]] NpyHeader read_npy_header(std::span<const std::uint8_t> bytes,
                                        const std::string& source);

// Where the numbers of a file are.
struct NpyLayout {
  NpyView view;             // rows, columns and their places; no data
  Index data = 0;           // where the numbers begin
  Index row_bytes = 0;      // of the numbers of one row
  bool by_columns = false;  // Fortran order: a column's numbers lie together
};

// Reads no more than the header. Throws what parse_npy throws.
[[nodiscard]] NpyLayout read_npy_layout(const InputFile& file);

}  // namespace fmd::internal
