#include "fmd/formats/patch.h"

#include <algorithm>

#include "core/check.h"
#include "formats/patch_pieces.h"

namespace fmd {
namespace {

constexpr std::uint64_t kJoin = 24;  // bytes that a range costs: nearer ranges are joined

std::uint64_t common(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  const auto n = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return static_cast<std::uint64_t>(
      std::mismatch(a.begin(), a.begin() + n, b.begin()).first - a.begin());
}

// Bytes at the end that agree, at most `most`.
std::uint64_t common_end(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                         std::uint64_t most) {
  std::uint64_t n = 0;
  while (n < most && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}

FilePatch range(const std::string& name, std::span<const std::uint8_t> changed,
                std::uint64_t offset, std::uint64_t length, std::uint64_t new_length) {
  const auto part = changed.subspan(offset, new_length);
  return {name,
          static_cast<Index>(offset),
          static_cast<Index>(length),
          {part.begin(), part.end()}};
}

[[noreturn]] void cannot_replace(const FilePatch& range) {
  throw Error(ErrorKind::bad_model,
              fmt::format("patch: bytes {} to {} of file \"{}\" cannot be replaced",
                          range.offset, range.offset + range.length, range.name));
}

}  // namespace

std::vector<FilePatch> difference(const std::string& name,
                                  std::span<const std::uint8_t> original,
                                  std::span<const std::uint8_t> changed) {
  std::vector<FilePatch> ranges;
  if (original.size() != changed.size()) {
    const std::uint64_t first = common(original, changed);
    const std::uint64_t last =
        common_end(original, changed, std::min(original.size(), changed.size()) - first);
    ranges.push_back(range(name, changed, first, original.size() - first - last,
                           changed.size() - first - last));
    return ranges;
  }
  for (std::uint64_t i = 0, end = 0; i < changed.size(); i = end) {
    if (original[i] == changed[i]) {
      end = i + 1;
      continue;
    }
    end = i + 1;
    for (std::uint64_t j = end; j < changed.size() && j - end < kJoin; ++j)
      if (original[j] != changed[j]) end = j + 1;
    ranges.push_back(range(name, changed, i, end - i, end - i));
  }
  return ranges;
}

std::map<std::string, Bytes> apply_patch(const NamedBytes& original, const Patch& patch) {
  std::map<std::string, Bytes> files;
  for (const FilePatch& range : patch.ranges) {
    if (files.contains(range.name)) continue;
    const auto from = original.find(range.name);
    if (from == original.end()) cannot_replace(range);
    files.emplace(range.name, patched(from->second, ranges_of(patch.ranges, range.name)));
  }
  for (const auto& [name, bytes] : patch.added) {
    if (original.contains(name) || !files.emplace(name, bytes).second)
      throw Error(ErrorKind::bad_model,
                  fmt::format("patch: file \"{}\" is there already", name));
  }
  return files;
}

}  // namespace fmd

namespace fmd::internal {

std::vector<const FilePatch*> ranges_of(const std::vector<FilePatch>& ranges,
                                        const std::string& name) {
  std::vector<const FilePatch*> own;
  for (const FilePatch& range : ranges)
    if (range.name == name) own.push_back(&range);
  return own;
}

void for_each_piece(std::size_t size, std::span<const FilePatch* const> ranges,
                    const std::function<void(std::size_t, std::size_t)>& keep,
                    const std::function<void(std::span<const std::uint8_t>)>& put) {
  std::size_t done = 0;
  for (const FilePatch* range : ranges) {
    const auto offset = static_cast<std::size_t>(range->offset),
               length = static_cast<std::size_t>(range->length);
    if (range->offset < 0 || range->length < 0 || offset < done || offset > size ||
        length > size - offset)
      cannot_replace(*range);
    if (offset > done) keep(done, offset);
    put(range->bytes);
    done = offset + length;
  }
  if (size > done) keep(done, size);
}

Bytes patched(std::span<const std::uint8_t> original,
              std::span<const FilePatch* const> ranges) {
  Bytes to;
  const auto put = [&](std::span<const std::uint8_t> part) {
    to.insert(to.end(), part.begin(), part.end());
  };
  for_each_piece(
      original.size(), ranges,
      [&](std::size_t first, std::size_t last) {
        put(original.subspan(first, last - first));
      },
      put);
  return to;
}

std::vector<FilePatch> inverse(std::span<const FilePatch* const> ranges,
                               std::span<const std::uint8_t> original) {
  std::vector<FilePatch> back;
  std::size_t at = 0;  // in the new file
  const auto here = [&](std::size_t first, std::size_t last) { at += last - first; };
  std::size_t next = 0;
  for_each_piece(original.size(), ranges, here, [&](std::span<const std::uint8_t> bytes) {
    const FilePatch& range = *ranges[next++];
    const auto old = original.subspan(static_cast<std::size_t>(range.offset),
                                      static_cast<std::size_t>(range.length));
    back.push_back({range.name,
                    static_cast<Index>(at),
                    static_cast<Index>(bytes.size()),
                    {old.begin(), old.end()}});
    at += bytes.size();
  });
  return back;
}

}  // namespace fmd::internal
