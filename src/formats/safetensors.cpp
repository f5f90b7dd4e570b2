#include "fmd/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "fmd/core/bytes.h"
#include "formats/safetensors_header.h"

namespace fmd {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

constexpr std::uint64_t kMostHeader = 100'000'000;
constexpr std::size_t kAlign = 8;

[[noreturn]] void damaged_file(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
              "the file is damaged or cut off: copy or make it again");
}

// Bytes of one element; 0 = not a kind that the format has.
Index element_size(const std::string& dtype) {
  static const std::map<std::string, Index> kSizes = {
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4},     {"I32", 4},
      {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2},     {"U16", 2},
      {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  const auto found = kSizes.find(dtype);
  return found == kSizes.end() ? 0 : found->second;
}

// Product of all; -1 when it does not fit.
Index checked_product(const std::vector<Index>& factors, Index first) {
  Index product = first;
  for (const Index factor : factors)
    if (factor < 0 || __builtin_mul_overflow(product, factor, &product)) return -1;
  return product;
}

// The tensor's place among `data` bytes that begin at `start`.
SafetensorsHead::Place place_of(const std::string& name,
                                const SafetensorsHeader::Entry& entry, Index start,
                                Index data, const std::string& source) {
  if (entry.offsets.size() != 2 || entry.offsets[0] > entry.offsets[1] ||
      entry.offsets[1] > data) {
    damaged_file(source,
                 fmt::format("tensor '{}' lies outside the {} bytes of data", name, data));
  }
  const Index size = element_size(entry.dtype);
  if (size == 0)
    damaged_file(source,
                 fmt::format("tensor '{}' has the unknown dtype '{}'", name, entry.dtype));
  const Index length = entry.offsets[1] - entry.offsets[0];
  if (checked_product(entry.shape, size) != length)
    damaged_file(
        source,
        fmt::format("tensor '{}' has {} bytes, which does not fit its shape and dtype",
                    name, length));
  return {entry.dtype, entry.shape, start + entry.offsets[0], length};
}

// Every byte of the data belongs to exactly one tensor.
void check_cover(const SafetensorsHeader& header, Index size, const std::string& source) {
  std::vector<std::pair<Index, Index>> ranges;
  for (const auto& [name, entry] : header.entries)
    ranges.emplace_back(entry.offsets[0], entry.offsets[1]);
  std::sort(ranges.begin(), ranges.end());
  Index end = 0;
  for (const auto& [first, last] : ranges) {
    if (first != end)
      damaged_file(source, fmt::format("tensors {} at byte {} of the data",
                                       first < end ? "overlap" : "leave a hole",
                                       std::min(first, end)));
    end = last;
  }
  if (end != size)
    damaged_file(source,
                 fmt::format("the tensors end at byte {} of {} bytes of data", end, size));
}

template <typename T>
Tensor view(const char* dtype, const T* values, std::size_t count,
            std::vector<Index> shape) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values);
  Tensor tensor{dtype, std::move(shape), {bytes, count * sizeof(T)}};
  require_size("safetensors", "a tensor", static_cast<Index>(count), tensor.elements());
  return tensor;
}

template <typename T>
std::vector<double> numbers(const Tensor& tensor) {
  std::vector<T> raw(tensor.bytes.size() / sizeof(T));
  if (!raw.empty()) std::memcpy(raw.data(), tensor.bytes.data(), raw.size() * sizeof(T));
  return {raw.begin(), raw.end()};
}

std::size_t data_size(const std::string& name, const Tensor& tensor) {
  const Index size = element_size(tensor.dtype);
  const Index bytes = size == 0 ? -1 : checked_product(tensor.shape, size);
  if (bytes < 0)
    throw Error(
        ErrorKind::bad_shape,
        fmt::format("safetensors: tensor '{}' has an impossible dtype or shape", name));
  return static_cast<std::size_t>(bytes);
}

std::string header_text(const Safetensors& file) {
  nlohmann::json header = nlohmann::json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const std::size_t end = offset + data_size(name, tensor);
    header[name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::bad_value, "safetensors: a name or a metadata text is not UTF-8",
                "write texts in UTF-8");
  }
  while ((sizeof(std::uint64_t) + text.size()) % kAlign != 0) text += ' ';
  return text;
}

}  // namespace

Index Tensor::elements() const { return checked_product(shape, 1); }

SafetensorsHead SafetensorsHead::read(const InputFile& file) {
  const std::string& source = file.name();
  std::uint64_t length = 0;
  const auto size = static_cast<std::uint64_t>(file.size());
  if (size < sizeof length)
    damaged_file(source,
                 fmt::format("{} bytes are too short for a safetensors file", size));
  std::memcpy(&length, file.first(sizeof length).data(), sizeof length);
  if (length > kMostHeader || length > size - sizeof length)
    damaged_file(source,
                 fmt::format("the safetensors header claims {} bytes, the file has {}",
                             length, size));
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(sizeof length, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  const auto start = static_cast<Index>(sizeof length + length);
  SafetensorsHeader header = parse_safetensors_header(text, source);
  SafetensorsHead head;
  for (const auto& [name, entry] : header.entries)
    head.tensors.emplace(name, place_of(name, entry, start, file.size() - start, source));
  check_cover(header, file.size() - start, source);
  head.metadata = std::move(header.metadata);
  return head;
}

Safetensors Safetensors::parse(std::span<const std::uint8_t> bytes,
                               const std::string& source) {
  SafetensorsHead head = SafetensorsHead::read(*InputFile::in_memory(bytes, source));
  Safetensors file;
  for (auto& [name, place] : head.tensors)
    file.tensors.emplace(name,
                         Tensor{place.dtype, place.shape,
                                bytes.subspan(static_cast<std::size_t>(place.offset),
                                              static_cast<std::size_t>(place.length))});
  file.metadata = std::move(head.metadata);
  return file;
}

SafetensorsLayout layout(const Safetensors& file, Index head_size) {
  std::string header = header_text(file);
  const std::size_t shortest = sizeof(std::uint64_t) + header.size();
  if (head_size != 0) {
    require_option(head_size >= static_cast<Index>(shortest), "safetensors", "head_size",
                   head_size, fmt::format(">= {}", shortest));
    header.resize(static_cast<std::size_t>(head_size) - sizeof(std::uint64_t), ' ');
  }
  SafetensorsLayout result;
  ByteWriter out;
  out.put_text(header);
  result.head = out.take();
  result.size = static_cast<Index>(result.head.size());
  for (const auto& [name, tensor] : file.tensors) {
    result.offset[name] = result.size;
    result.size += static_cast<Index>(data_size(name, tensor));
  }
  return result;
}

Bytes Safetensors::write() const {
  for (const auto& [name, tensor] : tensors) {
    if (data_size(name, tensor) != tensor.bytes.size())
      throw Error(ErrorKind::bad_shape,
                  fmt::format("safetensors: tensor '{}' has {} bytes, which does not fit "
                              "its shape and dtype",
                              name, tensor.bytes.size()));
  }
  ByteWriter out;
  out.put_text(header_text(*this));
  for (const auto& [name, tensor] : tensors)
    out.put_raw(tensor.bytes.data(), tensor.bytes.size());
  return out.take();
}

Tensor tensor_view(const std::vector<double>& values, std::vector<Index> shape) {
  return view("F64", values.data(), values.size(), std::move(shape));
}

Tensor tensor_view(const Matrix& values) {
  return view("F64", values.data(), static_cast<std::size_t>(values.size()),
              {values.rows(), values.cols()});
}

Tensor tensor_view(const std::vector<float>& values, std::vector<Index> shape) {
  return view("F32", values.data(), values.size(), std::move(shape));
}

Tensor tensor_view(const std::vector<std::int64_t>& values, std::vector<Index> shape) {
  return view("I64", values.data(), values.size(), std::move(shape));
}

std::vector<double> tensor_numbers(const Tensor& tensor, const std::string& name) {
  if (tensor.dtype == "F64") return numbers<double>(tensor);
  if (tensor.dtype == "F32") return numbers<float>(tensor);
  throw Error(
      ErrorKind::bad_model,
      fmt::format("tensor '{}' has dtype {}, must be F64 or F32", name, tensor.dtype));
}

}  // namespace fmd
