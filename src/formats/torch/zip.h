#pragma once

#include <map>
#include <span>
#include <string>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// One file of a zip archive, by its places in the bytes of the archive.
struct ZipEntry {
  bool stored = false;  // as it is, not compressed
  std::size_t begin = 0, end = 0;
  std::size_t directory_check = 0;  // where its CRC-32 stands in the directory
  std::size_t own_check = 0;        // and beside it; 0 = nowhere
};

using ZipEntries = std::map<std::string, ZipEntry>;

// The directory of an archive. Throws Error(bad_model) for a damaged or cut off archive and
// for a name that is there twice, Error(unsupported) for one of 4 GB and more.
[[nodiscard]] ZipEntries read_zip(std::span<const std::uint8_t> bytes,
                                  const std::string& source);

// Writes the CRC-32 of the entry's bytes at its places.
void update_check(Bytes& archive, const ZipEntry& entry);

}  // namespace fmd::internal
