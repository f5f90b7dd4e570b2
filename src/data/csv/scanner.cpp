#include "data/csv/scanner.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {}  // namespace

std::string_view undouble_quotes(std::string_view text, std::string& scratch) {
  scratch.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    scratch += text[i];
    if (text[i] == '"') ++i;
  }
  return scratch;
}

CsvScanner::CsvScanner(std::string_view text, std::string source, const CsvOptions& options)
    : at_(text.data()),
      end_(text.data() + text.size()),
      limit_(end_),
      source_(std::move(source)),
      comment_(options.comment),
      separator_(options.separator == '\0' ? ',' : options.separator),
      max_field_(to_size(std::max<Index>(options.max_field, 1))),
      max_columns_(to_size(std::max<Index>(options.max_columns, 1))) {}

std::string CsvScanner::where(std::size_t column) const {
  if (names_ != nullptr && column < names_->size()) {
    return fmt::format("{}, line {}, column \"{}\"", source_, record_line_,
                       (*names_)[column]);
  }
  return fmt::format("{}, line {}, column {}", source_, record_line_, column + 1);
}

void CsvScanner::fail(const std::string& what, const std::string& hint) const {
  throw Error(ErrorKind::bad_csv, fmt::format("{}: {}", where(cells_.size()), what), hint);
}

bool CsvScanner::find_record() {
  while (at_ < limit_) {
    const char* p = at_;
    while (p != end_ && is_blank(*p, separator_)) ++p;
    if (p != end_ && *p == '\r' && (p + 1 == end_ || p[1] == '\n')) ++p;
    const bool blank = p == end_ || *p == '\n';
    const bool comment =
        !comment_.empty() && std::string_view(at_, end_).starts_with(comment_);
    if (!blank && !comment) return true;
    const void* newline = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    if (newline == nullptr && open_end_) return false;
    at_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
    ++line_;
  }
  return false;
}

bool CsvScanner::next() {
  if (!find_record()) return false;
  cells_.clear();
  record_line_ = line_;
  const char* begin = at_;
  if (!open_end_) {
    read_record();
  } else {
    // A record that reaches the end may change when more text comes. So may an error.
    bool failed = false;
    std::exception_ptr error;
    try {
      read_record();
    } catch (const Error&) {
      error = std::current_exception();
      failed = true;
    }
    if (at_ == end_ && (failed || end_[-1] != '\n')) {
      seek(begin, record_line_);
      return false;
    }
    if (failed) std::rethrow_exception(error);
  }
  const char* last = at_;
  if (last != begin && last[-1] == '\n') --last;
  if (last != begin && last[-1] == '\r') --last;
  record_ = std::string_view(begin, last);
  return true;
}

void CsvScanner::read_record() {
  do {
    while (at_ != end_ && is_blank(*at_, separator_)) ++at_;
    if (at_ != end_ && *at_ == '"') {
      read_quoted();
    } else {
      read_plain();
    }
  } while (!end_of_record());
}

void CsvScanner::add(RawCell cell) {
  if (cell.text.size() > max_field_) {
    fail(fmt::format("a cell of {} bytes, at most {} are read", cell.text.size(),
                     max_field_),
         "look for a quote that is opened here and closed much later");
  }
  if (cells_.size() >= max_columns_) {
    throw Error(ErrorKind::bad_csv, fmt::format("{}, line {}: more than {} cells", source_,
                                                record_line_, max_columns_));
  }
  cells_.push_back(cell);
}

void CsvScanner::read_quoted() {
  const char* begin = ++at_;
  bool escaped = false;
  while (true) {
    const void* found = std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_));
    if (found == nullptr) {
      at_ = end_;
      fail("a quote is opened and never closed",
           "close it, or write \"\" for a quote in a text");
    }
    const char* quote = static_cast<const char*>(found);
    at_ = quote + 1;
    if (at_ == end_ || *at_ != '"') break;
    escaped = true;
    ++at_;
  }
  const std::string_view text(begin, at_ - 1);
  while (at_ != end_ && is_blank(*at_, separator_)) ++at_;
  if (at_ != end_ && !ends_cell(*at_)) {
    fail(fmt::format("text after the closing quote of \"{}\"", shorten(text)),
         "write \"\" for a quote in a text");
  }
  add({text, escaped});
  line_ += std::count(text.begin(), text.end(), '\n');
}

void CsvScanner::read_plain() {
  const char* begin = at_;
  while (at_ != end_ && !ends_cell(*at_)) ++at_;
  const char* last = at_;
  while (last != begin && is_blank(last[-1], separator_)) --last;
  add({std::string_view(begin, last)});
}

bool CsvScanner::end_of_record() {
  if (at_ == end_) return true;
  if (*at_ == separator_) {
    ++at_;
    return false;
  }
  if (*at_ == '\r') {
    ++at_;
    if (at_ == end_) return true;
    if (*at_ != '\n') {
      throw Error(
          ErrorKind::bad_csv,
          fmt::format("{}, line {}: a carriage return without a line feed", source_, line_),
          "save the file with LF or CRLF line ends");
    }
  }
  ++at_;
  ++line_;
  return true;
}

}  // namespace fmd::internal
