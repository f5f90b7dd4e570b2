#include "data/words.h"

#include <algorithm>

#include <fmt/format.h>

namespace fmd::internal {
namespace {

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

std::string list_words(const std::vector<std::string>& words, std::size_t limit) {
  const std::size_t shown = std::min(limit, words.size());
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += words[i];
  }
  if (shown < words.size()) text += fmt::format(", ... ({} in all)", words.size());
  return text;
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& words) {
  // The cost is quadratic, and nobody mistypes longer names.
  constexpr std::size_t kLongest = 64;
  std::string best;
  std::size_t fewest = std::max<std::size_t>(word.size() / 3, 1) + 1;
  if (word.size() > kLongest) return best;
  for (const std::string& candidate : words) {
    if (candidate.size() > kLongest) continue;
    const std::size_t count = edits(word, candidate);
    if (count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

std::string shorten(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  const bool cut = text.size() > kLongest;
  if (cut) {
    text = text.substr(0, kLongest);
    // Not in the middle of a character.
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80U) {
      text.remove_suffix(1);
    }
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0)
      text.remove_suffix(1);
  }
  std::string result(text);
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return cut ? result + "..." : result;
}

}  // namespace fmd::internal
