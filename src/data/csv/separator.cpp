#include "data/csv/separator.h"

#include <array>

#include "fmd/core/types.h"

namespace fmd::internal {
namespace {

constexpr std::string_view kSeparators = ",;\t|";
constexpr std::size_t kLongest = std::size_t{1} << 20;  // of the text that is looked at

using Counts = std::array<Index, kSeparators.size()>;

// Counts separators outside of quotes in the record at the start of the text, and goes
// behind it. A line that is blank or a comment is skipped. False when there is no record.
bool count_record(std::string_view& text, const std::string& comment, Counts& counts) {
  while (!text.empty()) {
    counts = {};
    const bool skip = !comment.empty() && text.starts_with(comment);
    bool quoted = false;
    bool blank = true;
    std::size_t at = 0;
    for (; at < text.size() && (quoted || text[at] != '\n'); ++at) {
      const char c = text[at];
      if (c == '"' && !skip) quoted = !quoted;
      if (c != ' ' && c != '\t' && c != '\r') blank = false;
      const std::size_t which = kSeparators.find(c);
      if (!quoted && which != std::string_view::npos) ++counts[which];
    }
    text.remove_prefix(at < text.size() ? at + 1 : at);
    if (!blank && !skip) return true;
  }
  return false;
}

}  // namespace

char find_separator(std::string_view text, const CsvOptions& options) {
  if (!options.names.empty()) return ',';
  text = text.substr(0, kLongest);
  Counts header;
  Counts row;
  if (!count_record(text, options.comment, header)) return ',';
  const bool one_line = !count_record(text, options.comment, row);
  for (std::size_t i = 0; i < kSeparators.size(); ++i)
    if (header[i] > 0 && (one_line || row[i] == header[i])) return kSeparators[i];
  return ',';
}

bool shows_separator(std::string_view text, const CsvOptions& options) {
  if (options.separator != '\0' || !options.names.empty() || text.size() >= kLongest)
    return true;
  Counts counts;
  static_cast<void>(count_record(text, options.comment, counts));
  return count_record(text, options.comment, counts) && !text.empty();
}

bool take_separator_line(std::string_view& text, CsvOptions& options) {
  constexpr std::string_view kBegin = "sep=";
  if (options.separator != '\0' || !options.names.empty() || !text.starts_with(kBegin) ||
      text.size() <= kBegin.size() ||
      kSeparators.find(text[kBegin.size()]) == std::string_view::npos)
    return false;
  std::string_view rest = text.substr(kBegin.size() + 1);
  if (rest.starts_with('\r')) rest.remove_prefix(1);
  if (!rest.starts_with('\n')) return false;
  options.separator = text[kBegin.size()];
  text = rest.substr(1);
  return true;
}

CsvOptions with_separator(const CsvOptions& options, std::string_view text) {
  CsvOptions found = options;
  if (found.separator == '\0') found.separator = find_separator(text, options);
  return found;
}

}  // namespace fmd::internal
