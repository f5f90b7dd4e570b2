#include "data/csv/csv_rows.h"

#include <algorithm>
#include <cmath>

#include "data/number.h"

namespace fmd::internal {

std::unique_ptr<RowSource> open_csv_rows(const OpenFile& file, const CsvOptions& options,
                                         const Exec& exec) {
  const std::size_t window = CsvReader::window_bytes(exec, kCsvChunk);
  return std::make_unique<CsvRows>(make_feed(file, window), file->name(), options, exec);
}

CsvRows::CsvRows(std::unique_ptr<TextFeed> feed, const std::string& source,
                 const CsvOptions& options, const Exec& exec, std::size_t chunk)
    : reader_(std::move(feed), source, options, exec, chunk), exec_(exec) {
  infer_kinds();
  for (const CsvColumn& column : reader_.plan().columns) {
    kept_.push_back(column.name);
    kinds_.push_back(column.kind);
  }
}

// Number columns are read even where the kind is given, so that the first error of the file
// is found.
void CsvRows::infer_kinds() {
  std::vector<CsvColumn>& columns = reader_.plan().columns;
  for (CsvColumn& column : columns) column.active = column.kind == ColumnKind::number;
  const auto open = [&] {
    return std::any_of(columns.begin(), columns.end(),
                       [](const CsvColumn& c) { return c.active && !c.given; });
  };
  const bool needed = open();
  bool read = false;
  while (open() && reader_.next_wave()) {
    read = true;
    for (CsvColumn& column : columns) {
      if (column.given || (column.active && column.kind == ColumnKind::number)) continue;
      column.kind = ColumnKind::category;
      column.active = false;
    }
  }
  for (CsvColumn& column : columns) {
    column.given = column.active = true;
    column.known = std::make_unique<KnownLevels>();
  }
  if (read) {
    reader_.rewind();
  } else if (needed) {
    fail_no_rows(reader_.plan());
  }
}

const std::vector<std::string>& CsvRows::names() const { return reader_.plan().names; }

void CsvRows::rewind() {
  reader_.rewind();
  piece_ = 0;
  from_ = 0;
}

bool CsvRows::next(Table& block, Index rows) {
  begin_block(block, reader_.plan().source, kept_, kinds_);
  Index count = 0;
  std::vector<Span> spans;
  while (count < rows) {
    if (piece_ == reader_.pieces()) {
      fill(block, spans);  // the next wave takes their place
      spans.clear();
      piece_ = 0;
      if (!reader_.next_wave()) break;
    }
    const CsvPiece& piece = reader_.piece(piece_);
    const Index taken = std::min(rows - count, piece.rows() - from_);
    spans.push_back({piece_, from_, taken});
    block.line.append(piece.lines(), from_, taken, reader_.first_line(piece_));
    count += taken;
    from_ += taken;
    if (from_ == piece.rows()) {
      ++piece_;
      from_ = 0;
    }
  }
  fill(block, spans);
  for (std::size_t c = 0; c < kept_.size(); ++c)
    add_levels(block.columns[c], reader_.plan().columns[c].known->levels);
  if (count == 0 && !begun_) fail_no_rows(reader_.plan());
  begun_ = true;
  return count > 0;
}

void CsvRows::fill(Table& block, const std::vector<Span>& spans) {
  exec_.for_each(std::ssize(block.columns), [&](Index i) {
    const std::size_t c = to_size(i);
    Column& to = block.columns[c];
    for (const Span& span : spans) {
      const PieceColumn& cells = reader_.piece(span.piece).column(c);
      if (to.kind == ColumnKind::number) {
        const auto first = cells.numbers.begin() + span.from;
        to.numbers.insert(to.numbers.end(), first, first + span.count);
        if (cells.missing > 0)
          to.missing += std::count_if(first, first + span.count,
                                      [](double value) { return std::isnan(value); });
      } else {
        const auto first = cells.codes.begin() + span.from;
        to.codes.insert(to.codes.end(), first, first + span.count);
        if (cells.missing > 0) to.missing += std::count(first, first + span.count, -1);
      }
    }
  });
}

}  // namespace fmd::internal
