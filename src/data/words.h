#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"

namespace fmd::internal {

// "a, b, c" for messages. After `limit` words: "... (N in all)".
[[nodiscard]] std::string list_words(const std::vector<std::string>& words,
                                     std::size_t limit = 12);

// The word with the fewest edits to `word`; "" when none is near (more than a third of the
// letters would change).
[[nodiscard]] std::string nearest_word(std::string_view word,
                                       const std::vector<std::string>& words);

// A cell's text for a message: one line, at most about 60 bytes.
[[nodiscard]] std::string shorten(std::string_view text);

}  // namespace fmd::internal
