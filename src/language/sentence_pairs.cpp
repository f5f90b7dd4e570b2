#include "fmd/language/sentence_pairs.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/safe_text.h"
#include "fmd/data/csv.h"

namespace fmd {
namespace {

constexpr Index kMostWords = 60;

bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '\'' || c == '-';
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string lower_word(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(), lower);
  return text;
}

std::string in_case_of(std::string_view original, std::string word) {
  const auto capitals = std::count_if(original.begin(), original.end(), is_upper);
  if (capitals == 0) return word;
  if (capitals > 1 && std::none_of(original.begin(), original.end(),
                                   [](char c) { return c >= 'a' && c <= 'z'; })) {
    std::transform(word.begin(), word.end(), word.begin(), upper);
  } else if (is_upper(original[0])) {
    word[0] = upper(word[0]);
  }
  return word;
}

// A word of the list in a word of the text: "she", and "she" in "she's" or "'she'".
std::string_view listed_part(std::string_view word, const SwapWords& words,
                             std::size_t& begin) {
  begin = 0;
  if (words.place.contains(lower_word(word))) return word;
  std::size_t first = 0, last = word.size();
  while (first < last && (word[first] == '\'' || word[first] == '-')) ++first;
  while (last > first && (word[last - 1] == '\'' || word[last - 1] == '-')) --last;
  const std::string_view inner = word.substr(first, last - first);
  begin = first;
  if (words.place.contains(lower_word(inner))) return inner;
  const std::size_t apostrophe = inner.find('\'');
  if (apostrophe != std::string_view::npos &&
      words.place.contains(lower_word(inner.substr(0, apostrophe))))
    return inner.substr(0, apostrophe);
  return {};
}

template <typename Group>
SwappedSentence replaced_words(std::string_view sentence, const SwapWords& words,
                               const Group& group_of) {
  SwappedSentence result;
  for (std::size_t at = 0; at < sentence.size();) {
    if (!in_word(sentence[at])) {
      result.text += sentence[at++];
      continue;
    }
    std::size_t end = at;
    while (end < sentence.size() && in_word(sentence[end])) ++end;
    const std::string_view word = sentence.substr(at, end - at);
    std::size_t begin = 0;
    const std::string_view part = listed_part(word, words, begin);
    at = end;
    if (part.empty()) {
      result.text += word;
      continue;
    }
    const std::string key = lower_word(part);
    const SwapWords::Place place = words.place.find(key)->second;
    if (result.words++ == 0) result.first = key;
    result.text += word.substr(0, begin);
    result.text += in_case_of(part, words.rows[place.row][group_of(place.group)]);
    result.text += word.substr(begin + part.size());
  }
  return result;
}

[[noreturn]] void bad_words(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: {}", where, what),
              "a header with the names of the groups, then a word of each group in each "
              "line: female,male / she,he / mother,father");
}

Table words_table(std::string_view text, const std::string& source) {
  CsvOptions options;
  const Table first = parse_csv(text, source, options);
  for (const Column& column : first.columns)
    options.types[column.name] = ColumnKind::category;
  return parse_csv(text, source, options);
}

}  // namespace

SwapWords parse_swap_words(std::string_view text, const std::string& source) {
  const Table table = words_table(text, source);
  if (table.columns.size() < 2) bad_words(source, "there are fewer than two groups");
  if (table.rows() == 0) bad_words(source, "there is no word");
  SwapWords words;
  for (const Column& column : table.columns) words.groups.push_back(column.name);
  for (Index i = 0; i < table.rows(); ++i) {
    std::vector<std::string> row;
    for (std::size_t g = 0; g < table.columns.size(); ++g) {
      const std::string word = lower_word(table.columns[g].text(i));
      if (word.empty() || !std::all_of(word.begin(), word.end(), in_word))
        bad_words(table.where(i),
                  word.empty()
                      ? fmt::format("the group {} has no word", safe_text(words.groups[g]))
                      : fmt::format("\"{}\" is not one word", safe_text(word)));
      if (!words.place.try_emplace(word, SwapWords::Place{words.rows.size(), g}).second)
        words.notes.push_back(
            fmt::format("{}: \"{}\" stands there twice; where it is "
                        "found, the first line counts",
                        table.where(i), word));
      row.push_back(word);
    }
    words.rows.push_back(std::move(row));
  }
  return words;
}

SwapWords read_swap_words(const std::filesystem::path& file) {
  return parse_swap_words(FileView::open(file, Index{1} << 26).text(), file.string());
}

SwappedSentence swapped(std::string_view sentence, const SwapWords& words) {
  return replaced_words(sentence, words, [&](std::size_t group) {
    return (group + 1) % words.groups.size();
  });
}

SwappedSentence of_group(std::string_view sentence, const SwapWords& words,
                         std::size_t group) {
  return replaced_words(sentence, words, [&](std::size_t) { return group; });
}

SwappedText swapped_text(std::string_view text, const SwapWords& words,
                         const std::string& source) {
  SwappedText result;
  std::istringstream in{std::string(text)};
  std::string line;
  while (std::getline(in, line)) {
    ++result.lines;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (valid_utf8(line) != line)
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, line {}: this is not UTF-8", source, result.lines),
                  "save the text as UTF-8");
    std::istringstream parts(line);
    std::string part, sentence;
    Index count = 0;
    while (parts >> part) {
      sentence += (count++ == 0 ? "" : " ") + part;
    }
    const SwappedSentence other = swapped(sentence, words);
    if (other.words == 0 || other.text == sentence)
      ++result.without_word;
    else if (count > kMostWords)
      ++result.too_long;
    else
      result.pairs.push_back({sentence, other.text, other.first, result.lines});
  }
  return result;
}

std::string pairs_csv(const SwappedText& text, const std::string& domain) {
  std::string csv = "id,domain,target,stereotype,anti_stereotype\n";
  for (const SwappedPair& pair : text.pairs)
    csv +=
        fmt::format("line{},{},{},{},{}\n", pair.line, csv_cell(domain),
                    csv_cell(pair.target), csv_cell(pair.sentence), csv_cell(pair.other));
  return csv;
}

}  // namespace fmd
