#include "fmd/formats/undo.h"

#include <string_view>
#include <vector>

#include "core/check.h"
#include "fmd/core/bytes.h"
#include "fmd/core/hash.h"

namespace fmd {
namespace {

constexpr std::string_view kMagic = "fmd undo 1\n", kSeveral = "fmd undo 2\n";

[[noreturn]] void damaged(const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("undo: {}", what),
              "the undo file is damaged: take it from a backup");
}

std::string take_magic(ByteReader& in) {
  std::string magic(kMagic.size(), '\0');
  in.get_raw(magic.data(), magic.size());
  if (magic != kMagic && magic != kSeveral) damaged("this is not an undo file");
  return magic;
}

void put_ranges(std::span<const std::uint8_t> original,
                std::span<const std::uint8_t> changed, ByteWriter& out) {
  out.put(sha256(original));
  out.put(static_cast<std::uint64_t>(original.size()));
  // What turns the new file back.
  const std::vector<FilePatch> ranges = difference("", changed, original);
  out.put(static_cast<std::uint64_t>(ranges.size()));
  for (const FilePatch& range : ranges) {
    out.put(static_cast<std::uint64_t>(range.offset));
    out.put(static_cast<std::uint64_t>(range.length));
    out.put_array(std::span<const std::uint8_t>(range.bytes));
  }
}

void require_changed(const Hash& hash, std::span<const std::uint8_t> changed) {
  if (sha256(changed) == hash) return;
  throw Error(ErrorKind::wrong_model,
              "undo: the model is not the file that this undo file belongs to",
              "give the file that debias wrote, unchanged");
}

Bytes take_ranges(ByteReader& in, std::size_t undo_size,
                  std::span<const std::uint8_t> changed) {
  const auto hash_original = in.get<Hash>();
  const auto length = in.get<std::uint64_t>();
  if (length > changed.size() + undo_size) damaged("the original's length is impossible");
  Bytes original;
  std::uint64_t at = 0;
  for (auto count = in.get<std::uint64_t>(); count > 0; --count) {
    const auto offset = in.get<std::uint64_t>();
    const auto there = in.get<std::uint64_t>();
    const auto old = in.get_array<std::uint8_t>();
    if (offset < at || offset > changed.size() || there > changed.size() - offset)
      damaged("a range lies outside the file");
    original.insert(original.end(), changed.begin() + static_cast<std::ptrdiff_t>(at),
                    changed.begin() + static_cast<std::ptrdiff_t>(offset));
    original.insert(original.end(), old.begin(), old.end());
    at = offset + there;
  }
  original.insert(original.end(), changed.begin() + static_cast<std::ptrdiff_t>(at),
                  changed.end());
  if (original.size() != length || sha256(original) != hash_original)
    damaged("the restored file is not the original");
  return original;
}

}  // namespace

Bytes make_undo(std::span<const std::uint8_t> original,
                std::span<const std::uint8_t> changed) {
  ByteWriter out;
  out.put_raw(kMagic.data(), kMagic.size());
  out.put(sha256(changed));
  put_ranges(original, changed, out);
  return out.take();
}

Bytes make_undo(const NamedBytes& original, const NamedBytes& changed) {
  if (changed.size() == 1 && changed.contains("") && original.contains(""))
    return make_undo(original.at(""), changed.at(""));
  ByteWriter out;
  out.put_raw(kSeveral.data(), kSeveral.size());
  out.put(static_cast<std::uint64_t>(changed.size()));
  for (const auto& [name, bytes] : changed) {
    const auto before = original.find(name);
    const bool added = before == original.end();
    out.put_text(name);
    out.put(static_cast<std::uint8_t>(added ? 1 : 0));
    out.put(sha256(bytes));
    if (!added) put_ranges(before->second, bytes, out);
  }
  return out.take();
}

std::map<std::string, Bytes> apply_undo(std::span<const std::uint8_t> undo,
                                        const NamedBytes& changed) {
  ByteReader in(undo, "undo");
  const bool several = take_magic(in) == kSeveral;
  std::map<std::string, Bytes> files;
  for (auto count = several ? in.get<std::uint64_t>() : 1; count > 0; --count) {
    const std::string name = several ? in.get_text() : "";
    const bool added = several && in.get<std::uint8_t>() != 0;
    const auto found = changed.find(name);
    if (found == changed.end()) {
      throw Error(ErrorKind::wrong_model,
                  fmt::format("undo: the model has no file \"{}\"", name),
                  "give the files that debias wrote, unchanged");
    }
    require_changed(in.get<Hash>(), found->second);
    if (!added && !files.emplace(name, take_ranges(in, undo.size(), found->second)).second)
      damaged(fmt::format("the file \"{}\" appears twice", name));
  }
  if (in.left() != 0) damaged("there are bytes after the end");
  return files;
}

Bytes apply_undo(std::span<const std::uint8_t> undo,
                 std::span<const std::uint8_t> changed) {
  std::map<std::string, Bytes> files = apply_undo(undo, {{"", changed}});
  if (!files.contains("")) damaged("it holds no model");
  return std::move(files.at(""));
}

}  // namespace fmd
