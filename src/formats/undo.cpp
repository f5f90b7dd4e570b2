#include "fmd/formats/undo.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "fmd/core/bytes.h"
#include "fmd/core/hash.h"

namespace fmd {
namespace {

constexpr std::string_view kMagic = "fmd undo 1\n";
constexpr std::uint64_t kJoin = 24;  // bytes that a range costs: nearer ranges are joined

// `length` bytes of the new file at `offset` were old[from, from + old_length).
struct UndoRange {
  std::uint64_t offset, length, from, old_length;
};

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

std::vector<UndoRange> same_length_ranges(std::span<const std::uint8_t> original,
                                          std::span<const std::uint8_t> changed) {
  std::vector<UndoRange> ranges;
  for (std::uint64_t i = 0; i < changed.size(); ++i) {
    if (original[i] == changed[i]) continue;
    if (!ranges.empty() && i - (ranges.back().offset + ranges.back().length) < kJoin) {
      ranges.back().length = ranges.back().old_length = i + 1 - ranges.back().offset;
    } else {
      ranges.push_back({i, 1, i, 1});
    }
  }
  return ranges;
}

std::vector<UndoRange> find_ranges(std::span<const std::uint8_t> original,
                                   std::span<const std::uint8_t> changed) {
  if (original.size() == changed.size()) return same_length_ranges(original, changed);
  const std::uint64_t shorter = std::min(original.size(), changed.size());
  const std::uint64_t first = common(original, changed);
  const std::uint64_t last = common_end(original, changed, shorter - first);
  return {{first, changed.size() - first - last, first, original.size() - first - last}};
}

[[noreturn]] void damaged(const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("undo: {}", what),
              "the undo file is damaged: take it from a backup");
}

}  // namespace

Bytes make_undo(std::span<const std::uint8_t> original,
                std::span<const std::uint8_t> changed) {
  ByteWriter out;
  out.put_raw(kMagic.data(), kMagic.size());
  out.put(sha256(changed));
  out.put(sha256(original));
  out.put(static_cast<std::uint64_t>(original.size()));
  const auto ranges = find_ranges(original, changed);
  out.put(static_cast<std::uint64_t>(ranges.size()));
  for (const UndoRange& range : ranges) {
    out.put(range.offset);
    out.put(range.length);
    out.put_array(original.subspan(range.from, range.old_length));
  }
  return out.take();
}

Bytes apply_undo(std::span<const std::uint8_t> undo,
                 std::span<const std::uint8_t> changed) {
  ByteReader in(undo, "undo");
  std::string magic(kMagic.size(), '\0');
  in.get_raw(magic.data(), magic.size());
  if (magic != kMagic) damaged("this is not an undo file");
  const auto hash_changed = in.get<Hash>();
  const auto hash_original = in.get<Hash>();
  const auto length = in.get<std::uint64_t>();
  if (sha256(changed) != hash_changed) {
    throw Error(ErrorKind::wrong_model,
                "undo: the model is not the file that this undo file belongs to",
                "give the file that debias wrote, unchanged");
  }
  if (length > changed.size() + undo.size()) damaged("the original's length is impossible");
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
  if (in.left() != 0) damaged("there are bytes after the end");
  if (original.size() != length || sha256(original) != hash_original)
    damaged("the restored file is not the original");
  return original;
}

}  // namespace fmd
