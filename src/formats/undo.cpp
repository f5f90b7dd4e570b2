#include "fmd/formats/undo.h"

#include <algorithm>
#include <string_view>

#include "core/check.h"
#include "fmd/core/bytes.h"
#include "formats/patch_pieces.h"
#include "formats/undo.h"

namespace fmd {
namespace {

constexpr std::string_view kMagic = "fmd undo 1\n", kSeveral = "fmd undo 2\n";

std::string take_magic(ByteReader& in) {
  std::string magic(kMagic.size(), '\0');
  in.get_raw(magic.data(), magic.size());
  if (magic != kMagic && magic != kSeveral) damaged_undo("this is not an undo file");
  return magic;
}

void put_file(const UndoneFile& file, ByteWriter& out) {
  out.put(file.after);
  if (file.added) return;
  out.put(file.before);
  out.put(static_cast<std::uint64_t>(file.length));
  out.put(static_cast<std::uint64_t>(file.ranges.size()));
  for (const FilePatch& range : file.ranges) {
    out.put(static_cast<std::uint64_t>(range.offset));
    out.put(static_cast<std::uint64_t>(range.length));
    out.put_array(std::span<const std::uint8_t>(range.bytes));
  }
}

Index take_index(ByteReader& in) {
  const auto value = in.get<std::uint64_t>();
  if (value > (std::uint64_t{1} << 62)) damaged_undo("a length is impossible");
  return static_cast<Index>(value);
}

void take_file(ByteReader& in, UndoneFile& file) {
  file.after = in.get<Hash>();
  if (file.added) return;
  file.before = in.get<Hash>();
  file.length = take_index(in);
  Index at = 0;
  for (auto count = in.get<std::uint64_t>(); count > 0; --count) {
    FilePatch& range = file.ranges.emplace_back();
    range.name = file.name;
    range.offset = take_index(in);
    range.length = take_index(in);
    range.bytes = in.get_array<std::uint8_t>();
    if (range.offset < at) damaged_undo("ranges are not in order");
    at = range.offset + range.length;
  }
}

}  // namespace

Bytes undo_bytes(const std::vector<UndoneFile>& files) {
  const bool one = files.size() == 1 && files[0].name.empty() && !files[0].added;
  ByteWriter out;
  const std::string_view magic = one ? kMagic : kSeveral;
  out.put_raw(magic.data(), magic.size());
  if (!one) out.put(static_cast<std::uint64_t>(files.size()));
  for (const UndoneFile& file : files) {
    if (!one) out.put_text(file.name);
    if (!one) out.put(static_cast<std::uint8_t>(file.added ? 1 : 0));
    put_file(file, out);
  }
  return out.take();
}

std::vector<UndoneFile> parse_undo(std::span<const std::uint8_t> undo) {
  ByteReader in(undo, "undo");
  const bool several = take_magic(in) == kSeveral;
  std::vector<UndoneFile> files;
  for (auto count = several ? in.get<std::uint64_t>() : 1; count > 0; --count) {
    UndoneFile file;
    if (several) file.name = in.get_text();
    file.added = several && in.get<std::uint8_t>() != 0;
    take_file(in, file);
    for (const UndoneFile& other : files)
      if (other.name == file.name)
        damaged_undo(fmt::format("the file \"{}\" appears twice", file.name));
    files.push_back(std::move(file));
  }
  if (in.left() != 0) damaged_undo("there are bytes after the end");
  return files;
}

Bytes make_undo(std::span<const std::uint8_t> original,
                std::span<const std::uint8_t> changed) {
  // What turns the new file back.
  return undo_bytes({{.name = "",
                      .added = false,
                      .after = sha256(changed),
                      .before = sha256(original),
                      .length = static_cast<Index>(original.size()),
                      .ranges = difference("", changed, original)}});
}

Bytes apply_undo(std::span<const std::uint8_t> undo,
                 std::span<const std::uint8_t> changed) {
  const std::vector<UndoneFile> files = parse_undo(undo);
  if (files.size() != 1 || !files[0].name.empty() || files[0].added)
    damaged_undo("it is not that of one file");
  const UndoneFile& file = files[0];
  require_changed(file, sha256(changed));
  require_ranges(file, changed.size());
  const Bytes original = patched(changed, ranges_of(file.ranges, ""));
  if (sha256(original) != file.before)
    damaged_undo("the restored file is not the original");
  return original;
}

}  // namespace fmd

namespace fmd::internal {

void damaged_undo(const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("undo: {}", what),
              "the undo file is damaged: take it from a backup");
}

void require_changed(const UndoneFile& file, const Hash& found) {
  if (found == file.after) return;
  throw Error(ErrorKind::wrong_model,
              "undo: the model is not the file that this undo file belongs to",
              "give the file that debias wrote, unchanged");
}

void require_ranges(const UndoneFile& file, std::size_t size) {
  auto length = static_cast<Index>(size);
  for (const FilePatch& range : file.ranges) {
    if (range.offset > static_cast<Index>(size) ||
        range.length > static_cast<Index>(size) - range.offset)
      damaged_undo("a range lies outside the file");
    length += static_cast<Index>(range.bytes.size()) - range.length;
  }
  if (length != file.length) damaged_undo("the restored file is not the original");
}

}  // namespace fmd::internal
