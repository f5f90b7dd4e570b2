#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/internal.h"
#include "fmd/core/file.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// The files of a folder or of a tar file, by name. Many threads may read at the same time.
class ImageFiles {
 public:
  // Throws Error(cannot_read), and Error(bad_data) for a damaged tar file.
  explicit ImageFiles(const std::filesystem::path& folder_or_tar);
  // The files of a tar file in memory.
  ImageFiles(std::span<const std::uint8_t> tar, const std::string& source);

  // The bytes of one file. Throws Error(bad_data) for a name that leads out of the folder,
  // that is not there, or whose file is larger than 256 MB.
  [[nodiscard]] Bytes read(const std::string& name) const;
  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }  // of a tar file

 private:
  void read_tar(std::span<const std::uint8_t> bytes);

  std::string source_;
  std::filesystem::path folder_;  // empty: a tar file
  std::optional<FileView> tar_;
  std::span<const std::uint8_t> bytes_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> entries_;  // offset, size
};

}  // namespace fmd::internal
