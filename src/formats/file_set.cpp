#include "fmd/formats/file_set.h"

#include <algorithm>

#include "core/beside.h"
#include "core/check.h"
#include "formats/patch_pieces.h"

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
  return mapped_.emplace(name, FileView::open(place(name))).first->second.bytes();
}

std::filesystem::path FileSet::place(const std::string& name) const {
  if (name.empty()) return path_;
  return beside(path_, name, ErrorKind::bad_model, "keep the files of a model together");
}

FileSet FileSet::open(const std::filesystem::path& path,
                      const std::vector<FilePatch>& ranges) {
  FileSet set(path);
  for (const FilePatch& range : ranges) {
    if (set.all().contains(range.name)) continue;
    const std::vector<const FilePatch*> own = ranges_of(ranges, range.name);
    FileView view = FileView::open_private(set.place(range.name));
    const std::span<std::uint8_t> bytes = view.own_bytes();
    if (std::any_of(own.begin(), own.end(), [](const FilePatch* r) {
          return r->length != static_cast<Index>(r->bytes.size());
        })) {
      set.memory_.emplace(range.name, patched(bytes, own));
      continue;
    }
    std::size_t at = 0;
    for_each_piece(
        bytes.size(), own, [&](std::size_t, std::size_t last) { at = last; },
        [&](std::span<const std::uint8_t> part) {
          std::copy_n(part.begin(), part.size(), bytes.subspan(at).begin());
          at += part.size();
        });
    set.mapped_.emplace(range.name, std::move(view));
  }
  if (!set.all().contains("")) set.mapped_.emplace("", FileView::open(path));
  return set;
}

const FileView* FileSet::view(const std::string& name) const {
  const auto found = memory_.contains(name) ? mapped_.end() : mapped_.find(name);
  return found == mapped_.end() ? nullptr : &found->second;
}

Hash FileSet::hash(const std::string& name) const {
  const FileView* mapped = view(name);
  return mapped != nullptr ? sha256(*mapped) : sha256(all().at(name));
}

NamedBytes FileSet::all() const {
  NamedBytes files;
  for (const auto& [name, bytes] : memory_) files.emplace(name, bytes);
  for (const auto& [name, view] : mapped_) files.emplace(name, view.bytes());
  return files;
}

}  // namespace fmd
