#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/file.h"
#include "fmd/core/types.h"
#include "fmd/formats/patch.h"

namespace fmd {

// The files of one model: the one that was opened, named "", and files beside it by their
// plain names. Each is read when it is first asked for.
class FileSet {
 public:
  // Throws Error(cannot_read).
  [[nodiscard]] static FileSet open(const std::filesystem::path& path);
  // Contents that take the place of the files there, such as those that an undo gives back.
  [[nodiscard]] static FileSet in_memory(std::filesystem::path path,
                                         std::map<std::string, Bytes> contents);

  // The files there with some ranges replaced, in memory: what stays costs none unless a
  // range changes its length. Throws Error(bad_model) for a range outside its file.
  [[nodiscard]] static FileSet open(const std::filesystem::path& path,
                                    const std::vector<FilePatch>& ranges);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string source() const { return path_.filename().string(); }
  // Valid as long as the set. Throws Error(cannot_read), and Error(bad_model) for a name
  // that is not that of an ordinary file beside the first one.
  [[nodiscard]] std::span<const std::uint8_t> bytes(const std::string& name = "");
  [[nodiscard]] NamedBytes all() const;  // that have been asked for, and ""
  // The file where it is mapped; null: it is in memory.
  [[nodiscard]] const FileView* view(const std::string& name) const;
  // sha256 of a file that has been asked for.
  [[nodiscard]] Hash hash(const std::string& name) const;

 private:
  explicit FileSet(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] std::filesystem::path place(const std::string& name) const;
  std::filesystem::path path_;
  std::map<std::string, FileView> mapped_;
  std::map<std::string, Bytes> memory_;
};

}  // namespace fmd
