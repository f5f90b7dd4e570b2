#include "fmd/formats/safetensors.h"

#include <algorithm>

#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const auto file = fuzz::accepted([&] {
    return Safetensors::parse({data, size}, "fuzz.safetensors");
  });
  if (!file) return 0;
  for (const auto& entry : file->tensors)
    (void)fuzz::accepted([&] { return tensor_numbers(entry.second, entry.first); });
  const Bytes bytes = file->write();
  const Safetensors again = Safetensors::parse(bytes, "again");
  fuzz::require(again.metadata == file->metadata, "metadata are kept");
  fuzz::require(again.tensors.size() == file->tensors.size(), "tensors are kept");
  for (const auto& [name, tensor] : file->tensors) {
    const Tensor& other = again.tensors.at(name);
    fuzz::require(other.dtype == tensor.dtype && other.shape == tensor.shape &&
                      std::equal(other.bytes.begin(), other.bytes.end(),
                                 tensor.bytes.begin(), tensor.bytes.end()),
                  "a tensor is kept");
  }
  fuzz::require(again.write() == bytes, "same contents, same bytes");
  return 0;
}
