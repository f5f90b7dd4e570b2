#include "data/csv/reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/csv/separator.h"
#include "data/number.h"
#include "data/text_check.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kFirstChunk = std::size_t{1} << 16;

// One thread has one piece, which stays in its cache. Several threads have more pieces
// each, so that all are busy.
std::size_t most_pieces(const Exec& exec) {
  const int threads = exec.pool == nullptr ? 1 : exec.pool->threads();
  return threads == 1 ? 1 : 4 * static_cast<std::size_t>(threads);
}

// How much text is kept while the end of a record is searched for.
std::size_t longest_record(const CsvOptions& options) {
  return (std::size_t{1} << 26) + 4 * to_size(std::max<Index>(options.max_field, 1));
}

[[noreturn]] void fail_long_record(const std::string& source, Index line,
                                   const CsvOptions& options) {
  throw Error(ErrorKind::bad_csv,
              fmt::format("{}, line {}: a record of more than {} bytes", source, line,
                          longest_record(options)),
              "look for a quote that is opened here and closed much later");
}

// True when the first record ends in this text, which goes on.
bool has_record(std::string_view text, const CsvOptions& options) {
  if (!options.names.empty()) return true;
  CsvScanner scanner(text, "", with_separator(options, text));
  scanner.set_open_end(true);
  try {
    return scanner.next();
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

std::size_t CsvReader::window_bytes(const Exec& exec, std::size_t chunk) {
  return most_pieces(exec) * chunk;
}

CsvReader::CsvReader(std::unique_ptr<TextFeed> feed, const std::string& source,
                     const CsvOptions& options, const Exec& exec, std::size_t chunk)
    : feed_(std::move(feed)), exec_(exec), chunk_(std::max<std::size_t>(chunk, 1)) {
  read_header(source, options);
}

void CsvReader::read_header(const std::string& source, const CsvOptions& options) {
  constexpr std::size_t kStart = 1000;  // tells the encoding
  TextFeed::Window window = feed_->window();
  while (!window.last &&
         (window.text.size() < kStart || !has_record(window.text, options) ||
          !shows_separator(window.text, options))) {
    if (window.text.size() > longest_record(options)) fail_long_record(source, 1, options);
    feed_->consume(0);
    window = feed_->window();
  }
  std::string_view text = start_of_text(window.text, source);
  CsvOptions found = options;
  const bool told = take_separator_line(text, found);
  found = with_separator(found, text);
  CsvScanner scanner(text, source, found);
  if (told) scanner.seek(text.data(), 2);
  scanner.set_open_end(!window.last);
  plan_ = std::make_unique<CsvPlan>(scanner, found);
  header_bytes_ = static_cast<std::size_t>(scanner.at() - window.text.data());
  line_ = first_line_ = scanner.line_at();
  feed_->consume(header_bytes_);
}

void CsvReader::rewind() {
  feed_->rewind();
  while (feed_->window().text.size() < header_bytes_) feed_->consume(0);
  feed_->consume(header_bytes_);
  line_ = first_line_;
  row_ = 0;
  used_ = 0;
}

bool CsvReader::next_wave() {
  for (;;) {
    const TextFeed::Window window = feed_->window();
    used_ = 0;
    if (window.text.empty() && window.last) return false;
    // The first rows show the kinds of the columns. A small first piece loses little when a
    // kind changes.
    const std::size_t chunk = row_ == 0 ? std::min(chunk_, kFirstChunk) : chunk_;
    const std::size_t most = row_ == 0 ? 1 : most_pieces(exec_);
    const std::size_t fits = (window.text.size() + chunk - 1) / chunk;
    parse_pieces(window, std::min(most, fits), chunk);
    const Joined joined = join_pieces(window, chunk);
    if (turn_columns()) continue;
    join_levels();
    if (joined.bytes == 0 && window.text.size() > longest_record(plan_->options))
      fail_long_record(plan_->source, line_, plan_->options);
    feed_->consume(joined.bytes);
    line_ = joined.line;
    row_ += joined.rows;
    if (joined.rows > 0) return true;
  }
}

void CsvReader::parse_pieces(const TextFeed::Window& window, std::size_t count,
                             std::size_t chunk) {
  while (pieces_.size() < count) pieces_.push_back(std::make_unique<CsvPiece>(*plan_));
  lines_.resize(count);
  used_ = count;
  exec_.for_each(static_cast<Index>(count) + 1, [&](Index i) {
    if (i == 0) return feed_->read_ahead();
    const std::size_t k = to_size(i) - 1;
    const std::size_t begin = k == 0 ? 0 : guess_record(*plan_, window.text, k * chunk);
    pieces_[k]->parse(window.text, begin, (k + 1) * chunk, !window.last);
  });
}

// Checks that each piece begins where the one before it ends, and throws the first error.
CsvReader::Joined CsvReader::join_pieces(const TextFeed::Window& window,
                                         std::size_t chunk) {
  Joined joined{.line = line_};
  std::size_t good = 0;
  for (std::size_t k = 0; k < used_; ++k) {
    const std::size_t stop = (k + 1) * chunk;
    if (joined.bytes >= stop) continue;  // a long record covers this piece
    CsvPiece& piece = *pieces_[k];
    if (piece.begin() != joined.bytes)
      piece.parse(window.text, joined.bytes, stop, !window.last);
    if (piece.failed())
      find_error(*plan_, window.text, joined.bytes, joined.line, !window.last);
    lines_[good] = joined.line;
    joined.bytes = piece.end();
    joined.line += piece.feeds();
    joined.rows += piece.rows();
    std::swap(pieces_[k], pieces_[good++]);
    if (joined.bytes < std::min(stop, window.text.size())) break;  // more text is needed
  }
  used_ = good;
  return joined;
}

bool CsvReader::turn_columns() {
  bool again = false;
  for (std::size_t c = 0; c < plan_->columns.size(); ++c) {
    CsvColumn& column = plan_->columns[c];
    if (!column.active || column.kind == ColumnKind::category) continue;
    bool turned = false;
    for (std::size_t k = 0; k < used_; ++k) turned = turned || pieces_[k]->column(c).turned;
    if (!turned) continue;
    if (column.numbers) {
      column.active = false;  // their texts ("007") are gone
    } else {
      column.kind = ColumnKind::category;
      again = true;
    }
  }
  return again;
}

void CsvReader::join_levels() {
  exec_.for_each(std::ssize(plan_->columns), [&](Index i) {
    CsvColumn& column = plan_->columns[to_size(i)];
    if (!column.active) return;
    std::vector<std::int32_t> place;
    for (std::size_t k = 0; k < used_; ++k) {
      PieceColumn& cells = pieces_[k]->column(to_size(i));
      column.numbers = column.numbers || cells.any || cells.words;
      if (cells.fresh.levels.empty()) continue;
      place.clear();
      for (const std::string& level : cells.fresh.levels)
        place.push_back(column.known->index.code(level));
      for (std::int32_t& code : cells.codes)
        if (code < -1) code = place[to_size(-2 - code)];
    }
  });
}

}  // namespace fmd::internal
