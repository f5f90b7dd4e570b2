#include "fmd/formats/write_model.h"

#include <algorithm>

#include "core/beside.h"
#include "core/check.h"
#include "formats/patch_pieces.h"
#include "formats/undo.h"

namespace fmd {
namespace {

using Path = std::filesystem::path;

void write_one(const FileSet& from, const std::string& name,
               std::span<const FilePatch* const> ranges, OutputFiles& files,
               const Path& target) {
  const std::span<const std::uint8_t> bytes = from.all().at(name);
  const FileView* view = from.view(name);
  files.append(target, std::span<const std::uint8_t>{});  // an empty file is a file too
  for_each_piece(
      bytes.size(), ranges,
      [&](std::size_t first, std::size_t last) {
        if (view != nullptr)
          files.append(target, *view, first, last);
        else
          files.append(target, bytes.subspan(first, last - first));
      },
      [&](std::span<const std::uint8_t> part) { files.append(target, part); });
}

Hash written_hash(const OutputFiles& files, const Path& target) {
  return sha256_file(files.temporary(target));
}

void require_known(const Patch& patch, const NamedBytes& files) {
  for (const FilePatch& range : patch.ranges)
    if (!files.contains(range.name))
      throw Error(ErrorKind::bad_model,
                  fmt::format("patch: the model has no file \"{}\"", range.name));
  for (const auto& [name, bytes] : patch.added)
    if (files.contains(name) || !is_plain_name(name))
      throw Error(ErrorKind::bad_model,
                  fmt::format("patch: file \"{}\" cannot be added", name));
}

// The sha256 of a file after its ranges were replaced, without its bytes in memory.
Hash patched_hash(const FileSet& from, const std::string& name,
                  std::span<const FilePatch* const> ranges) {
  constexpr std::size_t kPiece = std::size_t{1} << 22;
  const std::span<const std::uint8_t> bytes = from.all().at(name);
  const FileView* view = from.view(name);
  Sha256 hash;
  for_each_piece(
      bytes.size(), ranges,
      [&](std::size_t first, std::size_t last) {
        for (; first < last; first += std::min(kPiece, last - first)) {
          const std::size_t size = std::min(kPiece, last - first);
          hash.add(bytes.subspan(first, size));
          if (view != nullptr) view->forget(first, first + size);
        }
      },
      [&](std::span<const std::uint8_t> part) { hash.add(part); });
  return hash.finish();
}

// The files of the repaired model are those that the undo belongs to.
void require_undo(FileSet& changed, const std::vector<UndoneFile>& undo) {
  for (const UndoneFile& file : undo) {
    const std::size_t size = changed.bytes(file.name).size();
    require_changed(file, changed.hash(file.name));
    if (!file.added) require_ranges(file, size);
  }
}

}  // namespace

WrittenModel write_model(const ModelFile& original, const Patch& patch, OutputFiles& files,
                         const Path& out) {
  return write_files(original.file_set(), patch, files, out);
}

WrittenModel write_files(const FileSet& set, const Patch& patch, OutputFiles& files,
                         const Path& out) {
  const NamedBytes all = set.all();
  require_known(patch, all);
  const bool folder = all.size() + patch.added.size() > 1;
  if (folder) files.reserve_folder(out);
  const std::string main = set.source();
  const auto target = [&](const std::string& name) {
    return folder ? out / (name.empty() ? main : name) : out;
  };
  WrittenModel written;
  written.main = target("");
  for (const auto& [name, bytes] : all) {
    const std::vector<const FilePatch*> ranges = ranges_of(patch.ranges, name);
    write_one(set, name, ranges, files, target(name));
    const Hash before = set.hash(name);
    const Hash after = ranges.empty() ? before : written_hash(files, target(name));
    written.files.push_back({name.empty() ? main : name, before, after});
    if (!ranges.empty() || !folder)
      written.undo.push_back({name, false, after, before, static_cast<Index>(bytes.size()),
                              inverse(ranges, bytes)});
  }
  for (const auto& [name, bytes] : patch.added) {
    files.append(target(name), bytes);
    written.files.push_back({name, std::nullopt, sha256(bytes)});
    written.undo.push_back({name, true, sha256(bytes), {}, 0, {}});
  }
  return written;
}

std::vector<Hash> restore_model(FileSet changed, const std::vector<UndoneFile>& undo,
                                const std::vector<std::string>& names, OutputFiles& files,
                                const Path& out) {
  require_undo(changed, undo);
  if (names.size() > 1) files.reserve_folder(out);
  std::vector<Hash> hashes;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string own = k == 0 ? "" : names[k];
    const Path target = names.size() > 1 ? out / names[k] : out;
    const auto found = std::find_if(undo.begin(), undo.end(), [&](const UndoneFile& file) {
      return file.name == own && !file.added;
    });
    static_cast<void>(changed.bytes(own));
    const bool same = found == undo.end();
    write_one(changed, own,
              same ? std::vector<const FilePatch*>{} : ranges_of(found->ranges, own), files,
              target);
    hashes.push_back(written_hash(files, target));
    if (!same && hashes.back() != found->before)
      damaged_undo("the restored file is not the original");
  }
  return hashes;
}

FileSet restored_files(FileSet changed, const std::vector<UndoneFile>& undo) {
  require_undo(changed, undo);
  std::vector<FilePatch> ranges;
  for (const UndoneFile& file : undo) {
    if (!file.added &&
        patched_hash(changed, file.name, ranges_of(file.ranges, file.name)) != file.before)
      damaged_undo("the restored file is not the original");
    ranges.insert(ranges.end(), file.ranges.begin(), file.ranges.end());
  }
  return FileSet::open(changed.path(), ranges);
}

}  // namespace fmd
