#pragma once

#include <map>
#include <span>
#include <string>

#include "fmd/core/types.h"
#include "fmd/formats/patch.h"

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

// The same for a model of several files. Where only the file "" has changed, it is the undo
// of one file. Otherwise:
//   magic "fmd undo 2\n", number of files, then of each: name, a byte that is 1 for a file
//   that the repair added, sha256 of the new file, and, unless it was added, what an undo
//   of one file holds after that.
// changed: every file of the new model that is not one of the original to the byte.
[[nodiscard]] Bytes make_undo(const NamedBytes& original, const NamedBytes& changed);
// The files that were changed, as they were. An added file is not among them.
[[nodiscard]] std::map<std::string, Bytes> apply_undo(std::span<const std::uint8_t> undo,
                                                      const NamedBytes& changed);

}  // namespace fmd
