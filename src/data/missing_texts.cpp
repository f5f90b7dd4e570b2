#include "data/missing_texts.h"

#include <algorithm>
#include <utility>

namespace fmd::internal {

MissingTexts::MissingTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  for (const std::string& text : texts_) {
    if (text.empty()) {
      empty_ = true;
    } else {
      begins_[static_cast<unsigned char>(text[0])] = true;
      like_numbers_ = like_numbers_ || (text[0] >= '0' && text[0] <= '9');
    }
  }
}

bool MissingTexts::listed(std::string_view text) const {
  return std::find(texts_.begin(), texts_.end(), text) != texts_.end();
}

}  // namespace fmd::internal
