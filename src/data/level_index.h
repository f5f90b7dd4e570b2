#pragma once

#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/error.h"

namespace fmd {

// Numbers distinct texts 0, 1, ... in order of first appearance. Open addressing over the
// list of levels itself: a lookup touches one slot and one string, several times faster
// than std::unordered_map on the short texts of tables.
class LevelIndex {
 public:
  explicit LevelIndex(std::vector<std::string>& levels) : levels_(&levels) { rehash(64); }

  std::int32_t code(std::string_view text) {
    if (last_ >= 0 && (*levels_)[static_cast<std::size_t>(last_)] == text) return last_;
    const std::uint64_t hash = hash_of(text);
    std::size_t at = static_cast<std::size_t>(hash) & mask_;
    for (; slots_[at].code >= 0; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.tag == tag_of(hash) &&
          (*levels_)[static_cast<std::size_t>(slot.code)] == text) {
        return last_ = slot.code;
      }
    }
    return last_ = insert(text, hash, at);
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t code = -1;
  };

  static std::uint32_t tag_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash >> 32);
  }

  static std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0x9e3779b97f4a7c15U ^ text.size();
    const auto mix = [&hash](std::uint64_t word) {
      hash = (hash ^ word) * 0xff51afd7ed558ccdU;
      hash ^= hash >> 32;
    };
    while (text.size() >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data(), 8);
      mix(word);
      text.remove_prefix(8);
    }
    std::uint64_t rest = 0;
    for (const char c : text) rest = rest << 8 | static_cast<unsigned char>(c);
    mix(rest);
    mix(hash >> 29);
    return hash;
  }

  std::int32_t insert(std::string_view text, std::uint64_t hash, std::size_t at) {
    if (levels_->size() >=
        static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Error(ErrorKind::bad_csv, "a column has more than 2147483647 different values");
    }
    const auto code = static_cast<std::int32_t>(levels_->size());
    levels_->emplace_back(text);
    slots_[at] = {tag_of(hash), code};
    if (2 * levels_->size() > slots_.size()) rehash(2 * slots_.size());
    return code;
  }

  void rehash(std::size_t size) {
    while (size < 2 * levels_->size()) size *= 2;
    slots_.assign(size, {});
    mask_ = size - 1;
    for (std::size_t i = 0; i < levels_->size(); ++i) {
      const std::uint64_t hash = hash_of((*levels_)[i]);
      std::size_t at = static_cast<std::size_t>(hash) & mask_;
      while (slots_[at].code >= 0) at = (at + 1) & mask_;
      slots_[at] = {tag_of(hash), static_cast<std::int32_t>(i)};
    }
  }

  std::vector<std::string>* levels_;
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::int32_t last_ = -1;
};

}  // namespace fmd
