#include "fmd/formats/patch.h"

#include <algorithm>

#include "core/check.h"

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
  std::map<std::string, std::size_t> at;  // how far a file has been copied
  const auto wrong = [](const FilePatch& range) {
    throw Error(ErrorKind::bad_model,
                fmt::format("patch: bytes {} to {} of file \"{}\" cannot be replaced",
                            range.offset, range.offset + range.length, range.name));
  };
  for (const FilePatch& range : patch.ranges) {
    const auto from = original.find(range.name);
    if (from == original.end() || range.offset < 0 || range.length < 0) wrong(range);
    const auto bytes = from->second;
    const auto offset = static_cast<std::size_t>(range.offset),
               length = static_cast<std::size_t>(range.length);
    std::size_t& done = at[range.name];
    if (offset < done || offset > bytes.size() || length > bytes.size() - offset)
      wrong(range);
    Bytes& to = files[range.name];
    const auto kept = bytes.subspan(done, offset - done);
    to.insert(to.end(), kept.begin(), kept.end());
    to.insert(to.end(), range.bytes.begin(), range.bytes.end());
    done = offset + length;
  }
  for (auto& [name, to] : files) {
    const auto rest = original.at(name).subspan(at[name]);
    to.insert(to.end(), rest.begin(), rest.end());
  }
  for (const auto& [name, bytes] : patch.added) {
    if (original.contains(name) || !files.emplace(name, bytes).second)
      throw Error(ErrorKind::bad_model,
                  fmt::format("patch: file \"{}\" is there already", name));
  }
  return files;
}

}  // namespace fmd
