#include "data/columnar/npy_tensor.h"

#include <bit>
#include <cstring>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "core/index.h"
#include "data/columnar/npy_header.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"

namespace fmd::internal {
namespace {

template <typename T>
void copy_tensor(const std::uint8_t* from, Index count, float* into) {
  for (Index i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    into[i] = static_cast<float>(value);
  }
}

using CopyTensor = void (*)(const std::uint8_t*, Index, float*);

// Null: a type that is not read.
CopyTensor tensor_copier(const NpyType& type) {
  if (type.big_endian) return nullptr;
  if (type.kind == 'f' && type.size == 4) return copy_tensor<float>;
  if (type.kind == 'f' && type.size == 8) return copy_tensor<double>;
  if (type.kind == 'i' && type.size == 4) return copy_tensor<std::int32_t>;
  if (type.kind == 'i' && type.size == 8) return copy_tensor<std::int64_t>;
  if (type.kind == 'u' && type.size == 1) return copy_tensor<std::uint8_t>;
  return nullptr;
}

}  // namespace

TensorColumn npy_tensor(const std::filesystem::path& path, const std::string& name,
                        Index rows) {
  const auto file = std::make_shared<const FileView>(FileView::open(path));
  const std::string source = path.string();
  const NpyHeader header = read_npy_header(file->bytes(), source);
  const CopyTensor copy =
      header.fields.size() == 1 ? tensor_copier(header.fields[0].type) : nullptr;
  if (copy == nullptr || header.fortran || header.shape.empty())
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: tensors are f4, f8, i4, i8 or u1 in row order", source),
                "numpy.save(FILE, numpy.ascontiguousarray(x, dtype=\"float32\"))");
  Index count = 1;
  for (std::size_t d = 1; d < header.shape.size(); ++d) {
    const Index size = header.shape[d];
    if (size < 1 || count > std::numeric_limits<Index>::max() / 64 / size)
      throw Error(ErrorKind::bad_data, fmt::format("{}: its shape cannot be", source));
    count *= size;
  }
  if (header.shape[0] != rows)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: has {} tensors, the table has {} rows", source,
                            header.shape[0], rows),
                "there must be one tensor for each row of the table");
  const auto bytes = static_cast<std::size_t>(count * header.fields[0].type.size);
  const auto data = file->bytes().subspan(header.data);
  if (bytes == 0 || data.size() / bytes != at(rows) || data.size() % bytes != 0)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: its shape needs {} bytes for each row, {} bytes are there",
                            source, bytes, data.size()),
                "the .npy file is damaged: write it again with numpy.save");
  return {
      .name = name,
      .shape = {header.shape.begin() + 1, header.shape.end()},
      .read = [file, data, bytes, copy, count](std::span<const Index> which, float* into) {
        for (const Index row : which) {
          copy(data.data() + static_cast<std::size_t>(row) * bytes, count, into);
          into += count;
        }
      }};
}

}  // namespace fmd::internal
