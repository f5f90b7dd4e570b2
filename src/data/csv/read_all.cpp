#include "data/csv/read_all.h"

#include <algorithm>

#include "core/memory.h"
#include "data/columns/notations.h"
#include "data/number.h"

namespace fmd::internal {
namespace {

// Makes room for `more` cells. When memory must grow, it grows to what the whole file seems
// to need. Memory that is never written to costs nothing.
template <typename T>
void make_room(std::vector<T>& cells, std::size_t more, double share) {
  const std::size_t needed = cells.size() + more;
  if (needed <= cells.capacity()) return;
  const double likely = 1.2 * static_cast<double>(needed) / std::clamp(share, 1e-6, 1.0);
  cells.reserve(std::max(needed, static_cast<std::size_t>(likely)));
  prefer_huge_pages(cells.data(), cells.capacity() * sizeof(T));
}

template <typename T>
void add_cells(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Appends the wave of the reader to a column.
void append(Column& column, CsvReader& reader, std::size_t c) {
  const bool category = reader.plan().columns[c].kind == ColumnKind::category;
  if (category && column.kind == ColumnKind::number) {  // all missing so far
    column.kind = ColumnKind::category;
    column.codes.assign(column.numbers.size(), -1);
    column.numbers = {};
  }
  std::size_t more = 0;
  for (std::size_t k = 0; k < reader.pieces(); ++k) more += to_size(reader.piece(k).rows());
  if (category) {
    make_room(column.codes, more, reader.share());
  } else {
    make_room(column.numbers, more, reader.share());
  }
  for (std::size_t k = 0; k < reader.pieces(); ++k) {
    const PieceColumn& cells = reader.piece(k).column(c);
    column.missing += cells.missing;
    if (category) {
      add_cells(column.codes, cells.codes);
    } else {
      add_cells(column.numbers, cells.numbers);
    }
  }
}

void append_wave(Table& table, CsvReader& reader, const Exec& exec) {
  exec.for_each(std::ssize(table.columns), [&](Index i) {
    const std::size_t c = to_size(i);
    if (reader.plan().columns[c].active) append(table.columns[c], reader, c);
  });
}

// Reads the columns that were taken for numbers until a text came again, as categories.
void read_again(Table& table, CsvReader& reader, const Exec& exec) {
  bool any = false;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    CsvColumn& column = reader.plan().columns[c];
    column.active = !column.active;
    if (!column.active) continue;
    any = true;
    column.kind = ColumnKind::category;
    table.columns[c] = {.name = column.name, .kind = ColumnKind::category};
  }
  if (!any) return;
  reader.rewind();
  while (reader.next_wave()) append_wave(table, reader, exec);
}

}  // namespace

Table read_all(CsvReader& reader, const Exec& exec) {
  Table table;
  table.source = reader.plan().source;
  for (const CsvColumn& column : reader.plan().columns)
    table.columns.push_back({.name = column.name, .kind = column.kind});
  while (reader.next_wave()) {
    append_wave(table, reader, exec);
    for (std::size_t k = 0; k < reader.pieces(); ++k) {
      const CsvPiece& piece = reader.piece(k);
      table.line.append(piece.lines(), 0, piece.rows(), reader.first_line(k));
    }
  }
  if (table.line.empty()) fail_no_rows(reader.plan());
  read_again(table, reader, exec);
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    table.columns[c].levels = std::move(reader.plan().columns[c].known->levels);
  return table;
}

Table read_csv_file(const OpenFile& file, const CsvOptions& options, const Exec& exec) {
  const std::size_t window = CsvReader::window_bytes(exec, kCsvChunk);
  CsvReader reader(make_feed(file, window), file->name(), as_texts(options), exec);
  Table table = read_all(reader, exec);
  apply_notations(options, table);
  return table;
}

}  // namespace fmd::internal
