#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/internal.h"
#include "fmd/core/error.h"

namespace fmd::internal {

// A name without a separator that is neither "." nor "..", and has no NUL.
[[nodiscard]] bool is_plain_name(std::string_view name);

// The rule for every path that comes from inside a file, such as a receipt or the task of
// a model: it is opened only if it is the plain name of a regular file beside that file,
// and no link. Everything else must be named by the user. Throws Error(kind) that names the
// file, what it asked for and what to do.
[[nodiscard]] std::filesystem::path beside(const std::filesystem::path& file,
                                           const std::string& name, ErrorKind kind,
                                           const std::string& hint);

// A file that the user did not name, but that is looked for beside one, or in a folder,
// that he did: OUT.undo, config.json. The path itself. Throws Error(kind) where a pipe or a
// device stands there: reading would wait for ever. A file that is absent passes.
[[nodiscard]] std::filesystem::path found_file(const std::filesystem::path& path,
                                               ErrorKind kind);

}  // namespace fmd::internal
