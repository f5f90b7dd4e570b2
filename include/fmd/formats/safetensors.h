#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/file.h"

namespace fmd {

// One tensor: dtype as the format writes it ("F64", "F32", "I64", ...), shape, raw bytes.
struct Tensor {
  std::string dtype;
  std::vector<Index> shape;
  std::span<const std::uint8_t> bytes;

  [[nodiscard]] Index elements() const;
};

// The safetensors container: 8 bytes of header length, a JSON header, the tensors. Views
// point into the bytes given to parse, or those given for writing.
struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;

  // Throws Error(bad_model) with the source's name: header longer than the file or than 100
  // MB, not JSON, offsets outside the file, overlapping or not covering it, shape and size
  // that disagree.
  [[nodiscard]] static Safetensors parse(std::span<const std::uint8_t> bytes,
                                         const std::string& source);
  // Same contents, same bytes: names sorted, data aligned to 8.
  [[nodiscard]] Bytes write() const;
};

// The head of a file that is read piece by piece: where each tensor's data are.
struct SafetensorsHead {
  struct Place {
    std::string dtype;
    std::vector<Index> shape;
    Index offset = 0, length = 0;  // bytes in the file
  };
  std::map<std::string, std::string> metadata;
  std::map<std::string, Place> tensors;

  // Reads the head alone. Throws what Safetensors::parse throws, and Error(cannot_read).
  [[nodiscard]] static SafetensorsHead read(const InputFile& file);
};

// Where everything is in a file that is written piece by piece. Only the names, dtypes and
// shapes of the tensors are used.
struct SafetensorsLayout {
  Bytes head;                           // length and header
  std::map<std::string, Index> offset;  // of each tensor's data in the file
  Index size = 0;                       // of the file
};
// head_size: the head is filled up with blanks to this many bytes (0 = as short as
// possible). Throws Error(bad_option) when the head does not fit into it, Error(bad_shape).
[[nodiscard]] SafetensorsLayout layout(const Safetensors& file, Index head_size = 0);

[[nodiscard]] Tensor tensor_view(const std::vector<double>& values,
                                 std::vector<Index> shape);
[[nodiscard]] Tensor tensor_view(const Matrix& values);
[[nodiscard]] Tensor tensor_view(const std::vector<float>& values,
                                 std::vector<Index> shape);
[[nodiscard]] Tensor tensor_view(const std::vector<std::int64_t>& values,
                                 std::vector<Index> shape);
// Numbers of an F32 or F64 tensor as doubles. Throws Error(bad_model).
[[nodiscard]] std::vector<double> tensor_numbers(const Tensor& tensor,
                                                 const std::string& name);

}  // namespace fmd
