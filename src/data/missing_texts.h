#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"

namespace fmd::internal {

// The texts that mean "missing". The first byte is enough to rule out almost every other
// cell.
class MissingTexts {
 public:
  explicit MissingTexts(std::vector<std::string> texts);
  [[nodiscard]] bool has(std::string_view text) const {
    if (text.empty()) return empty_;
    return begins_[static_cast<unsigned char>(text[0])] && listed(text);
  }
  // One of them begins with a digit.
  [[nodiscard]] bool like_numbers() const { return like_numbers_; }

 private:
  [[nodiscard]] bool listed(std::string_view text) const;

  std::vector<std::string> texts_;
  bool empty_ = false;
  bool like_numbers_ = false;
  std::array<bool, 256> begins_ = {};
};

}  // namespace fmd::internal
