#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/data/csv.h"

namespace fmd::test {

// The folders of tests/compat, one for each release, oldest first by name.
inline std::vector<std::filesystem::path> releases() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(FMD_TEST_DIR) / "compat"))
    if (entry.is_directory() && entry.path().filename().string().starts_with("v"))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

// The files of a folder whose names end so, sorted.
inline std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder,
                                                   const std::string& ending) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(ending)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// The bytes of a file, unpacked where it is packed.
inline Bytes unpacked(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  return {text.begin(), text.end()};
}

}  // namespace fmd::test
