#pragma once

#include <string>

#include "core/internal.h"
#include "fmd/formats/undo.h"

namespace fmd::internal {

// Throws Error(bad_model).
[[noreturn]] void damaged_undo(const std::string& what);

// Throws Error(wrong_model) unless the new file has this sha256.
void require_changed(const UndoneFile& file, const Hash& found);

// Throws Error(bad_model) for ranges that do not fit a new file of `size` bytes, or that
// give an original of another length.
void require_ranges(const UndoneFile& file, std::size_t size);

}  // namespace fmd::internal
