#include "fmd/formats/file_set.h"

#include "core/check.h"

namespace fmd {

FileSet FileSet::open(const std::filesystem::path& path) {
  FileSet set(path);
  set.mapped_.emplace("", FileView::open(path));
  return set;
}

FileSet FileSet::in_memory(std::filesystem::path path,
                           std::map<std::string, Bytes> contents) {
  FileSet set(std::move(path));
  set.memory_ = std::move(contents);
  if (!set.memory_.contains("")) set.mapped_.emplace("", FileView::open(set.path_));
  return set;
}

std::span<const std::uint8_t> FileSet::bytes(const std::string& name) {
  if (const auto found = memory_.find(name); found != memory_.end()) return found->second;
  if (const auto found = mapped_.find(name); found != mapped_.end())
    return found->second.bytes();
  const std::filesystem::path beside = path_.parent_path() / name;
  std::error_code absent;
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     std::filesystem::path(name).filename() == name;
  if (!plain ||
      !std::filesystem::is_regular_file(std::filesystem::symlink_status(beside, absent))) {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: its file \"{}\" is not an ordinary file beside it",
                            source(), name),
                "keep the files of a model together");
  }
  return mapped_.emplace(name, FileView::open(beside)).first->second.bytes();
}

NamedBytes FileSet::all() const {
  NamedBytes files;
  for (const auto& [name, bytes] : memory_) files.emplace(name, bytes);
  for (const auto& [name, view] : mapped_) files.emplace(name, view.bytes());
  return files;
}

}  // namespace fmd
