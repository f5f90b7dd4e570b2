#include "fmd/data/idx.h"

#include "data/gzip.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const auto array = fuzz::accepted([&] { return parse_idx({data, size}, "fuzz.idx"); });
  if (!array) return 0;
  Index cells = 1;
  for (const Index n : array->shape) cells *= n;
  fuzz::require(cells > 0 && cells == std::ssize(array->values),
                "an array has as many bytes as its shape says");
  fuzz::require(array->count() * array->cell() == cells, "images are equally large");
  // Written again, it is the same; a plain file was just that.
  Bytes again = {0, 0, 8, static_cast<std::uint8_t>(array->shape.size())};
  for (const Index n : array->shape)
    for (int shift = 24; shift >= 0; shift -= 8)
      again.push_back(static_cast<std::uint8_t>(n >> shift));
  again.insert(again.end(), array->values.begin(), array->values.end());
  const IdxArray back = parse_idx(again, "again.idx");
  fuzz::require(back.shape == array->shape && back.values == array->values,
                "written and read again, it is the same");
  if (!is_gzip({data, size}))
    fuzz::require(again == Bytes(data, data + size), "a plain file has one form");
  return 0;
}
