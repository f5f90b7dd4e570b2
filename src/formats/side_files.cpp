#include "formats/side_files.h"

#include <algorithm>

#include "core/beside.h"
#include "core/check.h"
#include "fmd/core/file.h"
#include "formats/patch_pieces.h"

namespace fmd::internal {
namespace {

// A range that stands for as many bytes of the original.
void require_same_length(const FilePatch& range, Index size) {
  if (range.offset < 0 || range.length != std::ssize(range.bytes) || range.offset > size ||
      range.length > size - range.offset)
    throw Error(ErrorKind::bad_model,
                fmt::format("patch: bytes {} to {} of file \"{}\" cannot be replaced",
                            range.offset, range.offset + range.length, range.name));
}

// One piece of a side file: the old bytes of a range go to `back`, the new ones into it.
void patch_piece(const FilePatch& range, Index start, std::span<std::uint8_t> piece,
                 FilePatch& back) {
  const Index first = std::max(range.offset, start);
  const Index last = std::min(range.offset + range.length, start + std::ssize(piece));
  for (Index i = first; i < last; ++i) {
    std::uint8_t& byte = piece[static_cast<std::size_t>(i - start)];
    back.bytes[static_cast<std::size_t>(i - range.offset)] = byte;
    byte = range.bytes[static_cast<std::size_t>(i - range.offset)];
  }
}

// Up to the first range both files are the same, so one hash serves both.
UndoneFile copy_side_file(const std::filesystem::path& from, const std::string& name,
                          std::span<const FilePatch* const> ranges, OutputFiles& files,
                          const std::filesystem::path& target) {
  constexpr Index kPiece = Index{1} << 22;
  const auto file = InputFile::open(from);
  Index first = file->size();
  UndoneFile undo{.name = name, .length = file->size(), .ranges = {}};
  for (const FilePatch* range : ranges) {
    require_same_length(*range, file->size());
    first = std::min(first, range->offset);
    undo.ranges.push_back(*range);
  }
  files.append(target, std::span<const std::uint8_t>{});  // an empty file is a file too
  Sha256 before, after;
  Bytes piece;
  bool same = true;
  for (Index at = 0; at < file->size(); at += std::ssize(piece)) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, file->size() - at)));
    file->read(at, piece);
    if (same && at + std::ssize(piece) > first) {
      after = before;
      same = false;
    }
    before.add(piece);
    for (std::size_t k = 0; k < ranges.size(); ++k)
      patch_piece(*ranges[k], at, piece, undo.ranges[k]);
    if (!same) after.add(piece);
    files.append(target, piece);
  }
  undo.before = before.finish();
  undo.after = same ? undo.before : after.finish();
  return undo;
}

}  // namespace

const HasSideFiles* side_files(const ModelFile& file) {
  const auto* files = dynamic_cast<const HasSideFiles*>(&file);
  return files == nullptr || files->side_files().empty() ? nullptr : files;
}

WrittenModel write_with_side_files(const ModelFile& original, const Patch& patch,
                                   OutputFiles& files, const std::filesystem::path& out) {
  const HasSideFiles* others = side_files(original);
  const std::vector<std::string> side =
      others == nullptr ? std::vector<std::string>{} : others->side_files();
  const auto is_side = [&](const FilePatch& range) {
    return std::find(side.begin(), side.end(), range.name) != side.end();
  };
  Patch main{.ranges = {}, .added = patch.added};
  for (const FilePatch& range : patch.ranges)
    if (!is_side(range)) main.ranges.push_back(range);
  files.reserve_folder(out);
  const std::string first = original.file_set().source();
  WrittenModel written = write_files(original.file_set(), main, files, out / first);
  if (main.ranges.empty()) written.undo.clear();
  for (const std::string& name : side) {
    UndoneFile undo =
        copy_side_file(beside(original.path(), name, ErrorKind::bad_model,
                              "keep the files of a model together"),
                       name, ranges_of(patch.ranges, name), files, out / name);
    written.files.push_back({name, undo.before, undo.after});
    if (undo.before != undo.after) written.undo.push_back(std::move(undo));
  }
  return written;
}

}  // namespace fmd::internal
