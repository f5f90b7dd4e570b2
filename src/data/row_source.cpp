#include "data/row_source.h"

#include <limits>

namespace fmd::internal {

Bytes start_of(const OpenFile& file) { return file->first(64); }

Table read_rows(RowSource& source) {
  Table table;
  static_cast<void>(source.next(table, std::numeric_limits<Index>::max()));
  return table;
}

void begin_block(Table& block, const std::string& source,
                 const std::vector<std::string>& names,
                 const std::vector<ColumnKind>& kinds) {
  bool same = block.source == source && block.columns.size() == names.size();
  for (std::size_t c = 0; same && c < names.size(); ++c)
    same = block.columns[c].name == names[c] && block.columns[c].kind == kinds[c];
  if (!same) {
    block = {.source = source, .columns = {}, .line = {}};
    for (std::size_t c = 0; c < names.size(); ++c)
      block.columns.push_back({.name = names[c], .kind = kinds[c]});
  }
  block.line.clear();
  for (Column& column : block.columns) {
    column.numbers.clear();
    column.codes.clear();
    column.missing = 0;
  }
}

void add_levels(Column& column, const std::vector<std::string>& known) {
  std::size_t have = column.levels.size();
  if (have > known.size() || (have > 0 && column.levels.back() != known[have - 1])) {
    column.levels.clear();
    have = 0;
  }
  column.levels.insert(column.levels.end(),
                       known.begin() + static_cast<std::ptrdiff_t>(have), known.end());
}

}  // namespace fmd::internal
