#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/hash.h"
#include "fmd/core/types.h"
#include "fmd/formats/patch.h"

namespace fmd {

// What turns one file of a repaired model back: ranges of the new file with the old bytes.
struct UndoneFile {
  std::string name;  // "" = the file that was opened
  bool added =
      false;        // by the repair: the original has no such file, and only `after` counts
  Hash after = {};  // of the new file
  Hash before = {};  // of the original
  Index length = 0;  // of the original
  std::vector<FilePatch> ranges;
};

// OUT.undo. Where only the file "" has changed:
//   magic "fmd undo 1\n", sha256 of the new file, sha256 and length of the original, then
//   ranges {offset in the new file, length there, old bytes}.
// Otherwise:
//   magic "fmd undo 2\n", number of files, then of each: name, a byte that is 1 for a file
//   that the repair added, sha256 of the new file, and, unless it was added, what an undo
//   of one file holds after that.
// files: every file of the new model that is not one of the original to the byte.
[[nodiscard]] Bytes undo_bytes(const std::vector<UndoneFile>& files);
// Throws Error(bad_model) when the undo file is damaged.
[[nodiscard]] std::vector<UndoneFile> parse_undo(std::span<const std::uint8_t> undo);

// The undo of one file that is in memory.
[[nodiscard]] Bytes make_undo(std::span<const std::uint8_t> original,
                              std::span<const std::uint8_t> changed);
// The original's bytes. Throws Error(wrong_model) when `changed` is not the file that the
// undo belongs to, Error(bad_model) when the undo file is damaged.
[[nodiscard]] Bytes apply_undo(std::span<const std::uint8_t> undo,
                               std::span<const std::uint8_t> changed);

}  // namespace fmd
