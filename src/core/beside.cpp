#include "core/beside.h"

#include <fmt/format.h>

#include "fmd/core/safe_text.h"

namespace fs = std::filesystem;

namespace fmd::internal {

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

fs::path beside(const fs::path& file, const std::string& name, ErrorKind kind,
                const std::string& hint) {
  const auto refuse = [&](const char* why) {
    throw Error(
        kind, fmt::format("{} names {}, which is {}", file.string(), safe_text(name), why),
        hint);
  };
  if (!is_plain_name(name)) refuse("not a plain name of a file beside it");
  const fs::path path = file.parent_path() / name;
  std::error_code absent;
  const fs::file_status status = fs::symlink_status(path, absent);
  if (fs::is_symlink(status)) refuse("a link");
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse("not a regular file");
  return path;
}

fs::path found_file(const fs::path& path, ErrorKind kind) {
  std::error_code absent;
  const fs::file_status status = fs::status(path, absent);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
    throw Error(kind, fmt::format("{} is not a regular file", path.string()),
                "a pipe or a device is read only where you name it: put the file itself "
                "there");
  return path;
}

}  // namespace fmd::internal
