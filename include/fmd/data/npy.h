#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/csv.h"
#include "fmd/data/table.h"

namespace fmd {

// How numbers stand in an .npy file: kind 'f', 'i', 'u' or 'b' (a truth value) and bytes.
struct NpyType {
  char kind = 'f';
  int size = 8;
  bool big_endian = false;

  bool operator==(const NpyType&) const = default;
};

// One number of each row: a column of a matrix, or a field of a structured array.
struct NpyColumn {
  std::string name;  // "" in a matrix
  NpyType type;
  Index offset = 0;  // of its first number in the data, in bytes
  Index stride = 0;  // from row to row, in bytes
};

// The array of an .npy file, in place: bytes are read when they are asked for. A list is a
// matrix of one column.
struct NpyView {
  std::string source;
  Index rows = 0;
  std::vector<NpyColumn> columns;
  std::span<const std::uint8_t> data;

  [[nodiscard]] double number(Index row, Index column) const;
  // Of a column of whole numbers: all digits, also those that a double does not hold.
  [[nodiscard]] std::string whole_text(Index row, Index column) const;
  // The matrix row by row where it is float32 in the order and the form of this machine;
  // null for any other.
  [[nodiscard]] const float* floats() const;
};

[[nodiscard]] bool is_npy(std::span<const std::uint8_t> bytes);

// NPY 1.0 to 3.0: f4 f8 i1 .. i8 u1 .. u8 b1 of both byte orders, C and Fortran order, one
// or two dimensions, or a structured array of such numbers. `bytes` must outlive the view.
// Throws Error(bad_data) when the file is damaged, cut off or longer than its shape says,
// Error(unsupported) for objects (pickles), texts, complex numbers and more dimensions.
// Nothing is allocated by what the header says alone.
[[nodiscard]] NpyView parse_npy(std::span<const std::uint8_t> bytes,
                                const std::string& source);

// The same as a table of numbers x0, x1, ... or options.names, or the fields' names; NaN is
// missing, other numbers that are not finite are Error(bad_value). A column whose kind is
// given as category has the numbers' texts as levels. Rows have numbers, no lines.
[[nodiscard]] Table read_npy(const std::filesystem::path& path,
                             const CsvOptions& options = {}, const Exec& exec = {});

}  // namespace fmd
