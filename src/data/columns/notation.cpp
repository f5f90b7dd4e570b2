#include "fmd/data/notation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>

#include "data/number.h"

namespace fmd {
namespace {

constexpr std::string_view kMissingWords[] = {"na",
                                              "n/a",
                                              "n.a.",
                                              "#n/a",
                                              "<na>",
                                              "nan",
                                              "nat",
                                              "null",
                                              "(null)",
                                              "nil",
                                              "none",
                                              "missing",
                                              "n/k",
                                              "unk",
                                              "unknown",
                                              "refused",
                                              "-",
                                              "--",
                                              "---",
                                              ".",
                                              "..",
                                              "...",
                                              "?",
                                              "",
                                              "not known",
                                              "not available",
                                              "#null!",
                                              "#value!",
                                              "#div/0!",
                                              "#num!",
                                              "#ref!",
                                              "\\n",
                                              "n.d.",
                                              "n/d",
                                              "blank",
                                              "undefined",
                                              "no answer",
                                              "not stated",
                                              "not reported",
                                              "not applicable",
                                              "don't know",
                                              "prefer not to say",
                                              "k.a.",
                                              "keine angabe"};

constexpr std::array<std::pair<Notation, std::string_view>, 7> kNames = {
    {{Notation::plain, "plain"},
     {Notation::point, "point"},
     {Notation::comma, "comma"},
     {Notation::ymd, "ymd"},
     {Notation::dmy, "dmy"},
     {Notation::mdy, "mdy"},
     {Notation::codes, "codes"}}};

constexpr std::string_view kCurrencies[] = {
    "US$", "$",   "\u20ac", "\u00a3", "\u00a5", "\u20b9", "\u20a9", "\u20bd", "USD",
    "EUR", "GBP", "CHF",    "JPY",    "CAD",    "AUD",    "INR",    "CNY",    "BRL"};

// Blanks that stand between thousands, and around signs.
constexpr std::string_view kBlanks[] = {" ", "\u00a0", "\u202f", "\u2009"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes one of the words from the start (or the end) of the text; "" when there is none.
template <typename Words>
std::string_view take(std::string_view& text, const Words& words, bool front) {
  for (const std::string_view word : words) {
    if (front ? !text.starts_with(word) : !text.ends_with(word)) continue;
    if (front) {
      text.remove_prefix(word.size());
    } else {
      text.remove_suffix(word.size());
    }
    return word;
  }
  return "";
}

void trim(std::string_view& text) {
  while (!take(text, kBlanks, true).empty()) {
  }
  while (!take(text, kBlanks, false).empty()) {
  }
}

// A text without its signs.
struct Bare {
  std::string_view digits;
  bool negative = false;
  bool percent = false;
  std::string_view currency;
};

Bare strip(std::string_view text) {
  Bare bare;
  trim(text);
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {
    bare.negative = true;
    text = text.substr(1, text.size() - 2);
  }
  const auto sign = [&] {
    if (bare.negative || text.empty()) return;
    bare.negative = text.front() == '-';
    if (text.front() == '-' || text.front() == '+') text.remove_prefix(1);
  };
  sign();
  bare.currency = take(text, kCurrencies, true);
  if (!bare.currency.empty()) {
    trim(text);
    sign();
  }
  if (text.ends_with('%')) {
    bare.percent = true;
    text.remove_suffix(1);
    trim(text);
  } else if (bare.currency.empty()) {
    bare.currency = take(text, kCurrencies, false);
    trim(text);
  }
  bare.digits = text;
  return bare;
}

// Digits in groups of three, as in 1,234,567; `group` is ',' or '.'; blanks and
// apostrophes separate groups too. One kind of separator in one number.
bool join_thousands(std::string_view whole, char group, std::string& digits) {
  std::string_view used;
  std::size_t run = 0;
  bool first = true;
  const std::string own(1, group);
  while (!whole.empty()) {
    if (is_digit(whole.front())) {
      digits += whole.front();
      whole.remove_prefix(1);
      ++run;
      continue;
    }
    const std::array<std::string_view, 6> marks = {own,        "'",        kBlanks[0],
                                                   kBlanks[1], kBlanks[2], kBlanks[3]};
    const std::string_view mark = take(whole, marks, true);
    const bool fits = first ? run >= 1 && run <= 3 && digits.front() != '0' : run == 3;
    if (mark.empty() || !fits || (!used.empty() && used != mark)) return false;
    used = mark;
    first = false;
    run = 0;
  }
  return first || run == 3;
}

std::optional<double> grouped_number(const Bare& bare, Notation notation) {
  const char decimal = notation == Notation::point ? '.' : ',';
  const char group = notation == Notation::point ? ',' : '.';
  const std::size_t at = bare.digits.rfind(decimal);
  const std::string_view whole = bare.digits.substr(0, at);
  std::string text;
  if (!join_thousands(whole, group, text)) return std::nullopt;
  if (at != std::string_view::npos) {
    const std::string_view places = bare.digits.substr(at + 1);
    if (!std::all_of(places.begin(), places.end(), is_digit)) return std::nullopt;
    if (text.empty() && places.empty()) return std::nullopt;
    text += '.';
    text += places;
  }
  double value = 0;
  if (internal::parse_number(text, value) != internal::NumberText::number)
    return std::nullopt;
  return bare.negative ? -value : value;
}

// Takes a whole number of `least` to `most` digits from the start.
std::optional<int> take_digits(std::string_view& text, std::size_t least,
                               std::size_t most) {
  std::size_t count = 0;
  int value = 0;
  while (count < most && count < text.size() && is_digit(text[count]))
    value = 10 * value + (text[count++] - '0');
  if (count < least) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

// Takes a word, in any case of letters, from the start.
bool take_word(std::string_view& text, std::string_view word) {
  if (text.size() < word.size() ||
      !std::equal(word.begin(), word.end(), text.begin(),
                  [](char a, char b) { return a == lower(b); }))
    return false;
  text.remove_prefix(word.size());
  return true;
}

// "+02:00", "-0530" or "Z" at the end of a time, as a share of the day; blanks before it.
std::optional<double> zone_share(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.empty() || text == "Z" || text == "UTC" || text == "GMT") return 0.0;
  const bool west = text.front() == '-';
  if (!west && text.front() != '+') return std::nullopt;
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2, 2);
  if (text.starts_with(':')) text.remove_prefix(1);
  const auto minutes = text.empty() ? std::optional<int>(0) : take_digits(text, 2, 2);
  if (!hours || !minutes || !text.empty() || *hours > 14 || *minutes > 59)
    return std::nullopt;
  return (west ? -1 : 1) * (*hours * 60 + *minutes) / 1440.0;
}

// The time after a date as a share of the day: "T12:34:56.5Z", " 12:34", " 1:05 PM".
std::optional<double> day_share(std::string_view text) {
  if (text.empty()) return 0.0;
  if (text.front() != 'T' && text.front() != ' ') return std::nullopt;
  text.remove_prefix(1);
  std::array<double, 3> parts = {0, 0, 0};
  constexpr std::array<int, 3> kMost = {23, 59, 60};
  for (std::size_t i = 0; i < 3 && (i < 2 || text.starts_with(':')); ++i) {
    if (i > 0 && !text.starts_with(':')) return std::nullopt;
    if (i > 0) text.remove_prefix(1);
    const auto value = take_digits(text, i == 0 ? 1 : 2, 2);
    if (!value || *value > kMost[i]) return std::nullopt;
    parts[i] = *value;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    while (!text.empty() && is_digit(text.front())) text.remove_prefix(1);
  }
  while (text.starts_with(' ')) text.remove_prefix(1);
  const bool pm = take_word(text, "pm") || take_word(text, "p.m.");
  const bool am = !pm && (take_word(text, "am") || take_word(text, "a.m."));
  if (am || pm) {
    if (parts[0] < 1 || parts[0] > 12) return std::nullopt;
    parts[0] += (pm ? 12 : 0) - (parts[0] == 12 ? 12 : 0);
  }
  const auto zone = zone_share(text);
  if (!zone) return std::nullopt;
  return (parts[0] * 3600 + parts[1] * 60 + parts[2]) / 86400 - *zone;
}

// A month of one or two digits, or by its English name, whole or of three letters.
std::optional<int> take_month(std::string_view& text) {
  constexpr std::string_view kMonths[] = {"january",   "february", "march",    "april",
                                          "may",       "june",     "july",     "august",
                                          "september", "october",  "november", "december"};
  for (int month = 1; const std::string_view name : kMonths) {
    if (take_word(text, name)) return month;
    if (take_word(text, name.substr(0, 3))) {
      if (text.starts_with('.')) text.remove_prefix(1);
      return month;
    }
    ++month;
  }
  return take_digits(text, 1, 2);
}

// Of four digits; of two digits 69 to 99 are 1969 to 1999, and 00 to 68 are 2000 to 2068.
std::optional<int> take_year(std::string_view& text) {
  if (const auto four = take_digits(text, 4, 4)) return four;
  const auto two = take_digits(text, 2, 2);
  if (!two || (!text.empty() && is_digit(text.front()))) return std::nullopt;
  return *two + (*two < 69 ? 2000 : 1900);
}

bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

// What stands between the parts of a date: the same twice ("1-2-2020"), blanks where the
// month has a name, nothing beside that name, a comma after the day of "Jan 5, 2020".
bool take_mark(std::string_view& text, char before, std::string_view& first, bool named) {
  std::string_view rest = text;
  if (named && rest.starts_with(',')) rest.remove_prefix(1);
  while (named && rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest.empty()) return false;
  const bool nothing = rest.size() == text.size();
  if (nothing && (rest.front() == '-' || rest.front() == '/' || rest.front() == '.')) {
    const std::string_view mark = rest.substr(0, 1);
    if (!first.empty() && first != mark) return false;
    first = mark;
    rest.remove_prefix(1);
    while (named && rest.starts_with(' ')) rest.remove_prefix(1);
  } else if (!named || (nothing && !is_letter(before) && !is_letter(rest.front()))) {
    return false;
  }
  text = rest;
  return true;
}

std::optional<double> read_date(std::string_view whole, Notation notation) {
  std::string_view text = whole;
  // The name of a month; a time may hold letters too.
  const std::string_view before = text.substr(0, text.find(':'));
  const bool named = std::any_of(before.begin(), before.end(),
                                 [](char c) { return is_letter(c) && c != 'T'; });
  std::optional<int> year, month, day;
  std::string_view mark;
  const char* order = notation == Notation::ymd   ? "ymd"
                      : notation == Notation::mdy ? "mdy"
                                                  : "dmy";
  for (int i = 0; i < 3; ++i) {
    const std::size_t taken = whole.size() - text.size();
    if (i > 0 && !take_mark(text, whole[taken - 1], mark, named)) return std::nullopt;
    std::optional<int>& part = order[i] == 'y' ? year : order[i] == 'm' ? month : day;
    part = order[i] == 'm'                       ? take_month(text)
           : order[i] == 'd'                     ? take_digits(text, 1, 2)
           : notation == Notation::ymd && !named ? take_digits(text, 4, 4)
                                                 : take_year(text);
    if (!part) return std::nullopt;
  }
  const auto share = day_share(text);
  if (!share) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) +
         *share;
}

bool all_fit(const std::vector<std::string>& texts, Notation notation) {
  bool any = false;
  bool percent = false;
  std::string_view currency;
  for (const std::string& text : texts) {
    if (is_missing_word(text)) continue;
    if (!read_number(text, notation)) return false;
    const Bare bare = strip(text);
    if (any && bare.percent != percent) return false;
    if (!bare.currency.empty() && !currency.empty() && bare.currency != currency)
      return false;
    percent = bare.percent;
    if (!bare.currency.empty()) currency = bare.currency;
    any = true;
  }
  return any;
}

}  // namespace

std::string to_string(Notation notation) {
  for (const auto& [value, name] : kNames)
    if (value == notation) return std::string(name);
  return "";
}

std::optional<Notation> parse_notation(std::string_view text) {
  for (const auto& [value, name] : kNames)
    if (name == text) return value;
  return std::nullopt;
}

bool is_missing_word(std::string_view text) {
  return std::any_of(std::begin(kMissingWords), std::end(kMissingWords),
                     [text](std::string_view word) {
                       return std::equal(word.begin(), word.end(), text.begin(), text.end(),
                                         [](char a, char b) { return a == lower(b); });
                     });
}

std::optional<double> read_number(std::string_view text, Notation notation) {
  switch (notation) {
    case Notation::ymd:
    case Notation::dmy:
    case Notation::mdy:
      return read_date(text, notation);
    case Notation::point:
    case Notation::comma:
      return grouped_number(strip(text), notation);
    default:
      break;
  }
  double value = 0;
  if (internal::parse_number(text, value) != internal::NumberText::number)
    return std::nullopt;
  return value;
}

std::optional<Notation> find_notation(const std::vector<std::string>& texts) {
  for (const Notation notation : {Notation::plain, Notation::point, Notation::comma,
                                  Notation::ymd, Notation::mdy, Notation::dmy})
    if (all_fit(texts, notation)) {
      // A day comes first where points or hyphens stand between the numbers.
      const bool slashes = std::any_of(texts.begin(), texts.end(), [](const auto& text) {
        return text.find('/') != std::string::npos && !is_missing_word(text);
      });
      if (notation == Notation::mdy && !slashes && all_fit(texts, Notation::dmy))
        return Notation::dmy;
      return notation;
    }
  return std::nullopt;
}

bool fits_comma(const std::vector<std::string>& texts) {
  return all_fit(texts, Notation::comma);
}

std::string in_words(Notation notation) {
  switch (notation) {
    case Notation::point:
      return "numbers, signs taken off";
    case Notation::comma:
      return "numbers, decimal comma";
    case Notation::ymd:
      return "dates as days";
    case Notation::dmy:
      return "dates as days, day first";
    case Notation::mdy:
      return "dates as days, month first";
    case Notation::codes:
      return "taken as groups";
    default:
      return "";
  }
}

}  // namespace fmd
