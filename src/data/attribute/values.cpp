#include "data/attribute/values.h"

#include <set>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

// One cell of a value that was named. It must be a number where the column has numbers.
Cell parse_cell(const std::string& text, const Column& column, const AttributeSpec& spec) {
  Cell cell{.text = text, .number = 0};
  const NumberText kind = parse_number(text, cell.number);
  if (column.kind == ColumnKind::category) return cell;
  if (kind != NumberText::number) {
    throw Error(ErrorKind::bad_task,
                fmt::format("attribute \"{}\": value \"{}\" is not a number, "
                            "but column \"{}\" has numbers",
                            spec.name, shorten(text), column.name));
  }
  cell.text = number_text(cell.number);
  return cell;
}

std::vector<Cell> parse_value(const std::string& value,
                              const std::vector<const Column*>& columns,
                              const AttributeSpec& spec) {
  std::vector<std::string> texts;
  std::size_t begin = 0;
  while (columns.size() > 1) {
    const std::size_t end = value.find(kJoint, begin);
    if (end == std::string::npos) break;
    texts.push_back(value.substr(begin, end - begin));
    begin = end + kJoint.size();
  }
  texts.push_back(value.substr(begin));
  if (texts.size() != columns.size()) {
    throw Error(
        ErrorKind::bad_task,
        fmt::format("attribute \"{}\": value \"{}\" has {} part(s), its {} columns need {}",
                    spec.name, shorten(value), texts.size(), columns.size(),
                    columns.size()),
        "write the parts in the columns' order, joined by \" / \"");
  }
  std::vector<Cell> cells;
  for (std::size_t c = 0; c < columns.size(); ++c)
    cells.push_back(parse_cell(texts[c], *columns[c], spec));
  return cells;
}

}  // namespace

std::string join_cells(const std::vector<Cell>& cells) {
  std::string text;
  for (const Cell& cell : cells) {
    if (!text.empty()) text += kJoint;
    text += cell.text;
  }
  return text;
}

Attribute named_values(const AttributeSpec& spec, const Table& table) {
  Attribute attribute;
  attribute.name = spec.name;
  attribute.columns =
      spec.columns.empty() ? std::vector<std::string>{spec.name} : spec.columns;
  std::vector<const Column*> columns;
  for (const std::string& name : attribute.columns) columns.push_back(&table.column(name));
  std::set<std::string> seen;
  for (const std::string& value : spec.values) {
    std::vector<Cell> cells = parse_value(value, columns, spec);
    std::string text = join_cells(cells);
    if (!seen.insert(text).second) {
      throw Error(ErrorKind::bad_task,
                  fmt::format("attribute \"{}\": value \"{}\" is named twice", spec.name,
                              shorten(value)));
    }
    attribute.values.push_back(std::move(text));
    attribute.cells.push_back(std::move(cells));
  }
  if (attribute.values.size() < 2) {
    throw Error(
        ErrorKind::bad_task,
        fmt::format("attribute \"{}\": values names one value, at least two are needed",
                    attribute.name));
  }
  return attribute;
}

}  // namespace fmd::internal
