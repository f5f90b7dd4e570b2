#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"
#include "fmd/core/error.h"

namespace fmd::internal {

// A text of at most eight bytes as a number: the first byte is the lowest, and zeros are
// above the last.
[[nodiscard]] inline std::uint64_t short_bytes(const char* p, std::size_t size) {
  if (size >= 4) {  // two loads that overlap
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + size - 4, 4);
    return low | static_cast<std::uint64_t>(high) << (8 * (size - 4));
  }
  if (size >= 2) {
    std::uint16_t low = 0;
    std::uint16_t high = 0;
    std::memcpy(&low, p, 2);
    std::memcpy(&high, p + size - 2, 2);
    return low | static_cast<std::uint64_t>(high) << (8 * (size - 2));
  }
  return size == 0 ? 0 : static_cast<unsigned char>(*p);
}

// Gives distinct texts the numbers 0, 1, ... in order of first appearance. Open addressing
// over the list of levels itself. A text of at most eight bytes is its own key, so that
// finding it touches one slot and no string.
class LevelIndex {
 public:
  explicit LevelIndex(std::vector<std::string>& levels) : levels_(&levels) { rehash(64); }

  std::int32_t code(std::string_view text) {
    const Key key = key_of(text);
    const std::size_t at = place(key, text);
    return slots_[at].code >= 0 ? slots_[at].code : insert(text, key, at);
  }

  // The text's number, or -1. May be called from several threads at once.
  [[nodiscard]] std::int32_t find(std::string_view text) const {
    return slots_[place(key_of(text), text)].code;
  }

  // Forgets all. To be called after the list of levels has been cleared.
  void reset() { rehash(64); }

 private:
  struct Key {
    std::uint64_t word;  // the text itself, or a hash of it
    std::uint32_t size;
  };
  struct Slot {
    std::uint64_t word = 0;
    std::uint32_t size = 0;
    std::int32_t code = -1;
  };

  static Key key_of(std::string_view text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    if (text.size() <= 8) return {short_bytes(text.data(), text.size()), size};
    std::uint64_t hash = 0;
    const char* p = text.data();
    std::size_t left = text.size();
    for (; left > 8; p += 8, left -= 8) hash = mix(hash ^ short_bytes(p, 8));
    return {mix(hash ^ short_bytes(p, left)), size};
  }

  static std::uint64_t mix(std::uint64_t word) {
    word = (word ^ word >> 32) * 0xff51afd7ed558ccdU;
    return word ^ word >> 29;
  }

  [[nodiscard]] std::size_t first_slot(const Key& key) const {
    return static_cast<std::size_t>(mix(key.word + key.size) >> 8) & mask_;
  }

  // Where the text is, or would be.
  [[nodiscard]] std::size_t place(const Key& key, std::string_view text) const {
    std::size_t at = first_slot(key);
    for (; slots_[at].code >= 0; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.word == key.word && slot.size == key.size &&
          (key.size <= 8 || (*levels_)[static_cast<std::size_t>(slot.code)] == text))
        break;
    }
    return at;
  }

  std::int32_t insert(std::string_view text, const Key& key, std::size_t at) {
    if (levels_->size() >=
        static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Error(ErrorKind::bad_csv, "a column has more than 2147483647 different values");
    }
    const auto code = static_cast<std::int32_t>(levels_->size());
    levels_->emplace_back(text);
    slots_[at] = {key.word, key.size, code};
    if (2 * levels_->size() > slots_.size()) rehash(2 * slots_.size());
    return code;
  }

  void rehash(std::size_t size) {
    while (size < 2 * levels_->size()) size *= 2;
    slots_.assign(size, {});
    mask_ = size - 1;
    for (std::size_t i = 0; i < levels_->size(); ++i) {
      const Key key = key_of((*levels_)[i]);
      std::size_t at = first_slot(key);
      while (slots_[at].code >= 0) at = (at + 1) & mask_;
      slots_[at] = {key.word, key.size, static_cast<std::int32_t>(i)};
    }
  }

  std::vector<std::string>* levels_;
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

// Levels found so far. Not movable: the index points to the list.
struct KnownLevels {
  std::vector<std::string> levels = {};
  LevelIndex index{levels};
};

}  // namespace fmd::internal
