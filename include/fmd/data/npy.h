#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/csv.h"
#include "fmd/data/table.h"

namespace fmd {

// How an .npy file stores a number: kind 'f', 'i', 'u' or 'b' (a truth value), and its size
// in bytes.
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

// The array of an .npy file, in place: a number is read when it is asked for. A list is a
// matrix of one column.
struct NpyView {
  std::string source;
  Index rows = 0;
  std::vector<NpyColumn> columns;
  std::span<const std::uint8_t> data;

  [[nodiscard]] double number(Index row, Index column) const;
  // For a column of whole numbers: all digits, also those that a double does not hold.
  [[nodiscard]] std::string whole_text(Index row, Index column) const;
  // The matrix row by row, when it is float32 in row order and in this machine's byte
  // order; otherwise null.
  [[nodiscard]] const float* floats() const;
};

[[nodiscard]] bool is_npy(std::span<const std::uint8_t> bytes);

// Reads NPY 1.0 to 3.0: f4 f8 i1 .. i8 u1 .. u8 b1 of both byte orders, C and Fortran
// order, one or two dimensions, or a structured array of such numbers. `bytes` must outlive
// the view. Throws Error(bad_data) when the file is damaged, cut off or longer than its
// shape says, and Error(unsupported) for objects (pickles), texts, complex numbers and more
// dimensions. No memory is allocated on the word of the header alone.
[[nodiscard]] NpyView parse_npy(std::span<const std::uint8_t> bytes,
                                const std::string& source);

// The same as a table. Its columns are named by options.names, by the fields, or x0, x1,
// ... NaN is missing; other numbers that are not finite are Error(bad_value). A column
// whose kind is given as category has the numbers' texts as levels. Messages name rows,
// because the file has no lines.
[[nodiscard]] Table read_npy(const std::filesystem::path& path,
                             const CsvOptions& options = {}, const Exec& exec = {});

}  // namespace fmd
