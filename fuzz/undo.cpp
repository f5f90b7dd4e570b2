#include "fmd/formats/undo.h"

#include <algorithm>

#include "fmd/core/hash.h"
#include "fmd/formats/model_file.h"
#include "support/fuzz.h"

// An input is the length of the changed file (one byte), the changed file, the undo file.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  if (size == 0) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  const auto changed = rest.first(std::min<std::size_t>(data[0], rest.size()));
  const auto undo = rest.subspan(changed.size());
  (void)fuzz::accepted([&] { return apply_undo(undo, changed); });
  // Nobody guesses a checksum: with the right one the ranges are read too.
  constexpr std::size_t kHashAt = 11;
  Bytes right(undo.begin(), undo.end());
  const Hash hash = sha256(changed);
  if (right.size() >= kHashAt + hash.size())
    std::copy(hash.begin(), hash.end(), right.begin() + kHashAt);
  (void)fuzz::accepted([&] { return apply_undo(right, changed); });
  const Bytes original(undo.begin(), undo.end());
  fuzz::require(apply_undo(make_undo(original, changed), changed) == original,
                "an undo file gives the original");
  return 0;
}
