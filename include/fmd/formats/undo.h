#pragma once

#include <span>

#include "fmd/core/types.h"

namespace fmd {

// Byte ranges that turn one file back into another: what OUT.undo holds.
//   magic "fmd undo 1\n", sha256 of the new file, sha256 and length of the original, then
//   ranges {offset in the new file, length there, old bytes}.
[[nodiscard]] Bytes make_undo(std::span<const std::uint8_t> original,
                              std::span<const std::uint8_t> changed);
// The original's bytes. Throws Error(wrong_model) when `changed` is not the file that the
// undo belongs to, Error(bad_model) when the undo file is damaged.
[[nodiscard]] Bytes apply_undo(std::span<const std::uint8_t> undo,
                               std::span<const std::uint8_t> changed);

}  // namespace fmd
