#include "data/csv/piece.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "data/number.h"
#include "data/text_check.h"
#include "fmd/core/error.h"
#include "fmd/data/notation.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kSegment = std::size_t{1} << 15;
constexpr std::size_t kShortSegment = std::size_t{1} << 10;
constexpr std::size_t kLongSegment = std::size_t{1} << 20;

std::string_view trim(std::string_view text, char separator) {
  while (!text.empty() && is_blank(text.front(), separator)) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back(), separator)) text.remove_suffix(1);
  return text;
}

}  // namespace

// One column of records whose marks follow each other.
struct CsvPiece::Cells {
  const char* text;
  const char* safe;  // eight bytes can be read from here and before
  const std::uint32_t* ends;
  std::size_t stride, count;
  bool returns;  // cells may end with a carriage return
  bool quotes;
  char separator;

  // The cell as it is between the separators.
  [[nodiscard]] std::string_view raw(std::size_t i) const {
    const std::uint32_t* end = ends + i * stride;
    const char* first = text + static_cast<std::uint32_t>(end[-1] + 1);
    const char* last = text + *end;
    if (returns && last != first && last[-1] == '\r') --last;
    return {first, static_cast<std::size_t>(last - first)};
  }

  // The cell without blanks around it and without quotes.
  [[nodiscard]] std::string_view clean(std::string_view cell, std::string& scratch) const {
    if (cell.empty() || (static_cast<unsigned char>(cell.front()) > '"' &&
                         static_cast<unsigned char>(cell.back()) > '"'))
      return cell;
    cell = trim(cell, separator);
    if (!quotes || cell.empty() || cell.front() != '"') return cell;
    cell = cell.substr(1, cell.size() - 2);
    return cell.find('"') == std::string_view::npos ? cell : undouble_quotes(cell, scratch);
  }
};

CsvPiece::CsvPiece(const CsvPlan& plan)
    : plan_(&plan),
      columns_(std::make_unique<PieceColumn[]>(plan.columns.size())),
      scanner_({}, plan.source, plan.options),
      segment_(kSegment) {}

void CsvPiece::clear() {
  for (std::size_t c = 0; c < plan_->columns.size(); ++c) {
    PieceColumn& column = columns_[c];
    column.numbers.clear();
    column.codes.clear();
    if (!column.fresh.levels.empty()) {
      column.fresh.levels.clear();
      column.fresh.index.reset();
    }
    column.missing = 0;
    column.any = column.words = column.turned = false;
  }
  failed_ = false;
  rows_ = line_ = 0;
  lines_.clear();
}

void CsvPiece::parse(std::string_view text, std::size_t begin, std::size_t stop,
                     bool open_end) {
  clear();
  begin_ = end_ = begin;
  stop = std::min(stop, text.size());
  scanner_.set_text(text);
  scanner_.set_open_end(open_end);
  scanner_.set_limit(text.data() + stop);
  while (!failed_ && end_ < stop) {
    if (take_marked(text, stop)) continue;
    if (!scan_record(text)) break;
  }
}

bool CsvPiece::take_marked(std::string_view text, std::size_t stop) {
  const std::string_view segment = text.substr(end_, segment_);
  marks_.find(segment, plan_->options.separator);
  const std::size_t width = plan_->names.size();
  const std::uint32_t* ends = marks_.at.data() + 1;
  const std::uint32_t* last = ends + marks_.count;
  const std::size_t stop_here = stop - end_;
  std::size_t count = 0;
  const std::uint32_t* at = ends;
  while (static_cast<std::size_t>(last - at) >= width &&
         static_cast<std::uint32_t>(at[-1] + 1) < stop_here && is_regular(segment, at)) {
    at += width;
    ++count;
  }
  if (count == 0) {
    // Long records need long segments. While records are irregular, segments are short.
    const bool cut = static_cast<std::size_t>(last - at) < width && segment_ < kLongSegment;
    segment_ = cut ? 4 * segment_ : kShortSegment;
    return false;
  }
  if (segment_ < kSegment) segment_ *= 2;
  const std::string_view run = segment.substr(0, static_cast<std::uint32_t>(at[-1] + 1));
  if ((marks_.nul || marks_.above_ascii) && first_bad_byte(run) < run.size()) {
    failed_ = true;
    return true;
  }
  take_run(segment, ends, count);
  end_ += run.size();
  return true;
}

bool CsvPiece::is_regular(std::string_view text, const std::uint32_t* ends) const {
  const std::size_t width = plan_->names.size();
  const char separator = plan_->options.separator;
  bool wide = text[ends[width - 1]] == '\n';
  for (std::size_t i = 0; i + 1 < width; ++i) wide = wide & (text[ends[i]] == separator);
  if (!wide) return false;
  const auto first = static_cast<std::uint32_t>(ends[-1] + 1);
  const std::string_view record = text.substr(first, ends[width - 1] - first);
  const std::string& comment = plan_->options.comment;
  if (!comment.empty() && record.starts_with(comment)) return false;
  if (width == 1) {
    const std::string_view cell = trim(record, separator);
    if (cell.empty() || cell == "\r") return false;
  }
  if (record.size() > to_size(std::max<Index>(plan_->options.max_field, 1))) return false;
  if (marks_.quotes && record.find('"') != std::string_view::npos)
    return quotes_hold(text, ends);
  return !marks_.returns ||
         record.substr(0, record.size() - 1).find('\r') == std::string_view::npos;
}

// True when each cell is plain, or one quoted text with quotes doubled. Only then the marks
// are right.
bool CsvPiece::quotes_hold(std::string_view text, const std::uint32_t* ends) const {
  const std::size_t width = plan_->names.size();
  for (std::size_t i = 0; i < width; ++i) {
    const auto first = static_cast<std::uint32_t>(*(ends + i - 1) + 1);
    std::string_view cell = text.substr(first, ends[i] - first);
    if (i + 1 == width && cell.ends_with('\r')) cell.remove_suffix(1);
    cell = trim(cell, plan_->options.separator);
    if (!cell.starts_with('"')) {
      if (cell.find_first_of("\"\r") != std::string_view::npos) return false;
      continue;
    }
    if (cell.size() < 2 || cell.back() != '"') return false;
    cell = cell.substr(1, cell.size() - 2);
    for (std::size_t at = cell.find('"'); at != std::string_view::npos;
         at = cell.find('"', at + 2)) {
      if (at + 1 == cell.size() || cell[at + 1] != '"') return false;
    }
  }
  return true;
}

void CsvPiece::take_run(std::string_view text, const std::uint32_t* ends,
                        std::size_t count) {
  const std::size_t width = plan_->names.size();
  count_lines(text, ends, count);
  rows_ += static_cast<Index>(count);
  for (std::size_t c = 0; c < plan_->columns.size(); ++c) {
    const CsvColumn& column = plan_->columns[c];
    PieceColumn& to = columns_[c];
    if (!column.active || to.turned) continue;
    const bool last = column.position + 1 == width;
    const Cells cells{.text = text.data(),
                      .safe = text.size() < 8 ? nullptr : text.data() + text.size() - 8,
                      .ends = ends + column.position,
                      .stride = width,
                      .count = count,
                      .returns = last && marks_.returns,
                      .quotes = marks_.quotes,
                      .separator = plan_->options.separator};
    if (column.kind == ColumnKind::number) {
      add_numbers(column, to, cells);
    } else {
      add_codes(column, to, cells);
    }
    if (failed_) return;
  }
}

void CsvPiece::count_lines(std::string_view text, const std::uint32_t* ends,
                           std::size_t count) {
  if (!marks_.quoted_lines) {
    lines_.append(line_, static_cast<Index>(count));
    line_ += static_cast<Index>(count);
    return;
  }
  const std::size_t width = plan_->names.size();
  for (std::size_t i = 0; i < count; ++i, ends += width) {
    lines_.push_back(line_);
    line_ += std::count(text.begin() + static_cast<std::uint32_t>(ends[-1] + 1),
                        text.begin() + ends[width - 1] + 1, '\n');
  }
}

void CsvPiece::add_numbers(const CsvColumn& column, PieceColumn& to, const Cells& cells) {
  const std::size_t before = to.numbers.size();
  to.numbers.resize(before + cells.count);
  double* out = to.numbers.data() + before;
  const bool quick = !plan_->missing.like_numbers();
  for (std::size_t i = 0; i < cells.count; ++i) {
    const std::string_view raw = cells.raw(i);
    if (quick && raw.size() - 1 < 8 && raw.data() <= cells.safe) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, raw.data(), 8);
      if (parse_digits(bytes, raw.size(), out[i])) continue;
    }
    if (!add_number(column, to, cells.clean(raw, scratch_), out[i])) return;
  }
  to.any = to.any || static_cast<std::size_t>(to.missing) < to.numbers.size();
}

bool CsvPiece::add_number(const CsvColumn& column, PieceColumn& to, std::string_view text,
                          double& value) {
  if (plan_->missing.has(text)) {
    value = std::numeric_limits<double>::quiet_NaN();
    ++to.missing;
    return true;
  }
  if (parse_number(text, value) == NumberText::number) return true;
  if (is_missing_word(text)) {
    value = std::numeric_limits<double>::quiet_NaN();
    ++to.missing;
    to.words = true;
    return true;
  }
  (column.given ? failed_ : to.turned) = true;
  return false;
}

void CsvPiece::add_codes(const CsvColumn& column, PieceColumn& to, const Cells& cells) {
  const std::size_t before = to.codes.size();
  to.codes.resize(before + cells.count);
  std::int32_t* out = to.codes.data() + before;
  for (std::size_t i = 0; i < cells.count; ++i)
    out[i] = code_of(column, to, cells.clean(cells.raw(i), scratch_));
}

std::int32_t CsvPiece::code_of(const CsvColumn& column, PieceColumn& to,
                               std::string_view text) {
  if (plan_->missing.has(text)) {
    ++to.missing;
    return -1;
  }
  const std::int32_t known = column.known->index.find(text);
  return known >= 0 ? known : -2 - to.fresh.index.code(text);
}

// Reads one record that is not regular with the scanner, which knows every rule.
bool CsvPiece::scan_record(std::string_view text) {
  CsvScanner& scanner = scanner_;
  scanner.seek(text.data() + end_, line_);
  bool more = false;
  try {
    more = scanner.next();
  } catch (const Error&) {
    failed_ = true;
    return false;
  }
  const std::string_view passed(text.data() + end_, scanner.at());
  failed_ = first_bad_byte(passed) < passed.size() ||
            (more && scanner.cells().size() != plan_->names.size());
  if (failed_) return false;
  end_ += passed.size();
  line_ = scanner.line_at();
  if (!more) return false;
  lines_.push_back(scanner.line());
  ++rows_;
  for (std::size_t c = 0; c < plan_->columns.size(); ++c) {
    const CsvColumn& column = plan_->columns[c];
    PieceColumn& to = columns_[c];
    if (!column.active || to.turned) continue;
    const std::string_view cell = cell_text(scanner.cells()[column.position], scratch_);
    if (column.kind == ColumnKind::category) {
      to.codes.push_back(code_of(column, to, cell));
    } else if (double value = 0; add_number(column, to, cell, value)) {
      to.numbers.push_back(value);
      to.any = to.any || static_cast<std::size_t>(to.missing) < to.numbers.size();
    }
  }
  return true;
}

void find_error(const CsvPlan& plan, std::string_view text, std::size_t begin, Index line,
                bool open_end) {
  CsvScanner scanner(text, plan.source, plan.options);
  scanner.set_open_end(open_end);
  scanner.set_names(&plan.names);
  scanner.seek(text.data() + begin, line);
  std::string scratch;
  while (next_checked(scanner)) {
    check_width(scanner, plan.names.size());
    for (const CsvColumn& column : plan.columns) {
      if (!column.given || column.kind != ColumnKind::number) continue;
      const std::string_view cell = cell_text(scanner.cells()[column.position], scratch);
      double value = 0;
      if (!plan.missing.has(cell) && parse_number(cell, value) != NumberText::number &&
          !is_missing_word(cell))
        fail_number(scanner, column.position, cell);
    }
  }
  assert(false && "a piece that failed has an error");
  throw Error(ErrorKind::bad_csv, plan.source + ": is damaged");
}

std::size_t guess_record(const CsvPlan& plan, std::string_view text, std::size_t at) {
  constexpr int kTries = 64;   // lines
  constexpr int kRecords = 2;  // that must be as wide as the header
  constexpr std::size_t kNear = std::size_t{1} << 16;
  std::size_t first = std::string_view::npos;
  const std::string_view near = text.substr(0, at + kNear);
  CsvScanner scanner(near, plan.source, plan.options);
  scanner.set_open_end(near.size() < text.size());
  for (int i = 0; i < kTries; ++i) {
    const std::size_t feed = (i == 0 ? text : near).find('\n', at - 1);
    if (feed == std::string_view::npos) break;
    at = feed + 1;
    if (first == std::string_view::npos) first = at;
    if (at >= near.size()) break;
    scanner.seek(text.data() + at, 1);
    bool fits = true;
    try {
      for (int k = 0; fits && k < kRecords && scanner.next(); ++k)
        fits = scanner.cells().size() == plan.names.size();
    } catch (const Error&) {
      fits = false;
    }
    if (fits) return at;
    ++at;
  }
  return first == std::string_view::npos ? text.size() : first;
}

}  // namespace fmd::internal
