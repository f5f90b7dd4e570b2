#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fmd {

// How the cells of a column are written. All but `codes` give numbers.
enum class Notation {
  plain,  // 12, +3.5, .5, 1e-3; or any text
  point,  // 1,234.5; $1,234; 12%; 1 234; (5) is -5
  comma,  // 1.234,5; 12,5 %; 1 234,5
  ymd,    // 2020-02-29, also with a time: days since 1970-01-01
  dmy,    // 29.02.2020, 29/02/2020
  mdy,    // 02/29/2020
  codes,  // whole numbers that name groups: categories, but "NA" is a missing value
};

// "plain", "point", ...; nothing for another word.
[[nodiscard]] std::string to_string(Notation notation);
[[nodiscard]] std::optional<Notation> parse_notation(std::string_view text);

// The number that a text means; nothing when it is not written so.
[[nodiscard]] std::optional<double> read_number(std::string_view text, Notation notation);

// True for a word that stands for a missing number: "NA", "n/a", "null", "-", "unknown" and
// the like (docs/columns.md has the list), in any case of letters.
[[nodiscard]] bool is_missing_word(std::string_view text);

// The notation in which all of these texts are numbers or dates, where at least one is no
// missing word. Signs must agree: all in percent or none, one currency. Texts that fit two
// notations (1,234 and 02/03/2020) are taken as point and mdy. Nothing where there is none.
[[nodiscard]] std::optional<Notation> find_notation(const std::vector<std::string>& texts);

// True when the texts can be read with a decimal comma as well as with thousands
// separators, so that only other columns tell which is meant.
[[nodiscard]] bool fits_comma(const std::vector<std::string>& texts);

// In words, for a table of columns: "numbers, decimal comma", "dates as days, day first".
[[nodiscard]] std::string in_words(Notation notation);

}  // namespace fmd
