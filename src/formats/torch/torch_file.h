#pragma once

#include <span>
#include <string>

#include "core/internal.h"
#include "formats/torch/zip.h"

namespace fmd::internal {

// What a zip archive is, by the names in it.
enum class ArchiveKind { torchscript, torch_pickle, other };
[[nodiscard]] ArchiveKind archive_kind(const ZipEntries& entries);

// Says why the archive is not opened and what to do: it is TorchScript that was not
// allowed, or something that is never opened. Throws Error(unsupported).
[[noreturn]] void refuse_archive(std::span<const std::uint8_t> bytes,
                                 const std::string& source);

}  // namespace fmd::internal
