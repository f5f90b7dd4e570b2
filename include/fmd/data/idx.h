#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// The array of an IDX file, the format of MNIST: bytes 0 .. 255. The last dimension of the
// shape varies fastest.
struct IdxArray {
  std::string source;
  std::vector<Index> shape;  // images, rows, columns; or labels
  Bytes values;              // as many as the shape says

  [[nodiscard]] Index count() const { return shape.front(); }
  [[nodiscard]] Index cell() const {  // bytes of one image
    return static_cast<Index>(values.size()) / shape.front();
  }
};

// Reads IDX of unsigned bytes, 1 to 4 dimensions, plain or packed with gzip (found by
// content, not by name). Throws Error(bad_data) that names file and offset when the file is
// damaged, cut off, longer than its shape says or without elements, and Error(unsupported)
// for other kinds of numbers. Memory grows with the bytes that are there, not with what the
// header says.
[[nodiscard]] IdxArray parse_idx(std::span<const std::uint8_t> bytes,
                                 const std::string& source);
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& path);  // also cannot_read

}  // namespace fmd
