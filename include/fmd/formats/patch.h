#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// `length` bytes at `offset` of a file are replaced by `bytes`. name: a file beside the one
// that was opened; "" = that one itself.
struct FilePatch {
  std::string name;
  Index offset = 0;
  Index length = 0;  // of the old bytes
  Bytes bytes;

  bool operator==(const FilePatch&) const = default;
};

// What turns the files of a model into those of the same model with other parameters.
struct Patch {
  std::vector<FilePatch> ranges;  // ascending within a file, without overlap
  std::vector<std::pair<std::string, Bytes>> added;  // new files: name, contents
};

// The files of a model by name, "" the one that was opened. Views: the bytes stay where
// they are.
using NamedBytes = std::map<std::string, std::span<const std::uint8_t>>;

// Ranges of one file that turn `original` into `changed`. Ranges nearer than 24 bytes are
// joined.
[[nodiscard]] std::vector<FilePatch> difference(const std::string& name,
                                                std::span<const std::uint8_t> original,
                                                std::span<const std::uint8_t> changed);

// All files after the patch: the changed ones and the added ones, not those that stay.
// Throws Error(bad_model) for a range outside its file or a file that is not there.
[[nodiscard]] std::map<std::string, Bytes> apply_patch(const NamedBytes& original,
                                                       const Patch& patch);

}  // namespace fmd
