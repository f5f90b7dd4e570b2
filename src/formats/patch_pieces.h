#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/formats/patch.h"

namespace fmd::internal {

// The ranges of one file, in their order.
[[nodiscard]] std::vector<const FilePatch*> ranges_of(const std::vector<FilePatch>& ranges,
                                                      const std::string& name);

// A file after its ranges were replaced, piece by piece: keep(first, last) for bytes of the
// original, put(bytes) for new ones. Throws Error(bad_model) for a range outside the file
// or one that overlaps the range before it.
void for_each_piece(std::size_t size, std::span<const FilePatch* const> ranges,
                    const std::function<void(std::size_t first, std::size_t last)>& keep,
                    const std::function<void(std::span<const std::uint8_t>)>& put);

[[nodiscard]] Bytes patched(std::span<const std::uint8_t> original,
                            std::span<const FilePatch* const> ranges);

// Where each range of a file is afterwards, and what was there before: what turns the file
// back. original: its bytes before.
[[nodiscard]] std::vector<FilePatch> inverse(std::span<const FilePatch* const> ranges,
                                             std::span<const std::uint8_t> original);

}  // namespace fmd::internal
