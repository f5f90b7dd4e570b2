#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Pairs of sentences that are made by swapping the words of groups in any text.

// A table of words: a column for each group, a row for each meaning ("she", "he").
struct SwapWords {
  struct Place {
    std::size_t row, group;
  };
  std::vector<std::string> groups;             // names of the columns
  std::vector<std::vector<std::string>> rows;  // lower case
  std::map<std::string, Place, std::less<>> place;
  std::vector<std::string> notes;  // a word that stands twice: the first row counts
};
// CSV with a header. Words are letters, digits, apostrophes and hyphens. Throws
// Error(cannot_read, bad_csv), and Error(bad_data) that names file and line: fewer than two
// columns, no row, an empty cell, a cell of several words.
[[nodiscard]] SwapWords read_swap_words(const std::filesystem::path& file);
[[nodiscard]] SwapWords parse_swap_words(std::string_view text, const std::string& source);

struct SwappedSentence {
  std::string text;
  Index words = 0;    // that were replaced
  std::string first;  // the first of them, lower case
};
// Each listed word becomes the one of the next group (two groups: the other one). The case
// of the word is kept: she, She, SHE. Bytes of other scripts are part of a word.
[[nodiscard]] SwappedSentence swapped(std::string_view sentence, const SwapWords& words);
// Each listed word becomes the one of this group.
[[nodiscard]] SwappedSentence of_group(std::string_view sentence, const SwapWords& words,
                                       std::size_t group);

struct SwappedPair {
  std::string sentence, other, target;
  Index line = 0;  // from 1
};
struct SwappedText {
  std::vector<SwappedPair> pairs;
  Index lines = 0, without_word = 0, too_long = 0;
};
// One pair for each line with a listed word; lines of more than 60 words are left out and
// counted. Throws Error(bad_value) that names the line that is not UTF-8.
[[nodiscard]] SwappedText swapped_text(std::string_view text, const SwapWords& words,
                                       const std::string& source);
// CSV with the columns id, domain, target, stereotype and anti_stereotype: the sentence as
// it is stands under stereotype, the swapped one under anti_stereotype. read_sentence_items
// reads it.
[[nodiscard]] std::string pairs_csv(const SwappedText& text, const std::string& domain);

}  // namespace fmd
