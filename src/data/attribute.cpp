#include "fmd/data/attribute.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "data/keys.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

constexpr std::string_view kJoint = " / ";
constexpr std::size_t kMostValues = 256;  // an id column by mistake, not an attribute

std::string quoted(const std::vector<std::string>& values, std::size_t limit) {
  std::vector<std::string> result;
  for (const std::string& value : values) result.push_back('"' + value + '"');
  return list_words(result, limit);
}

std::string join(const std::vector<Cell>& cells) {
  std::string text;
  for (const Cell& cell : cells) {
    if (!text.empty()) text += kJoint;
    text += cell.text;
  }
  return text;
}

// Which numbers are groups cannot be guessed: 0 and 1 may be, 17 to 90 are not.
[[noreturn]] void fail_numbers(const Table& table, const Column& column,
                               const AttributeSpec& spec) {
  std::vector<double> numbers;
  for (const double number : column.numbers)
    if (!std::isnan(number)) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(numbers.size(), 4); ++i)
    texts.push_back(number_text(numbers[i]));
  throw Error(
      ErrorKind::bad_task,
      fmt::format("attribute \"{}\": column \"{}\" of {} has {} different numbers; which "
                  "of them are groups must be said by values",
                  spec.name, column.name, table.source, numbers.size()),
      fmt::format("in task.toml: values = [{}], or [types] {} = \"category\"",
                  quoted(texts, 4), column.name));
}

// One cell of a value that was named: must be a number where the column has numbers.
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

std::optional<std::vector<Cell>> row_value(const std::vector<const Column*>& columns,
                                           Index row) {
  std::vector<Cell> cells;
  for (const Column* column : columns) {
    Cell cell{.text = column->text(row), .number = 0};
    if (cell.text.empty()) return std::nullopt;
    if (column->kind == ColumnKind::number) cell.number = column->numbers[to_size(row)];
    cells.push_back(std::move(cell));
  }
  return cells;
}

// Codes of the rows. Unless the values are named, those that the table has are added.
class CodeReader {
 public:
  CodeReader(const std::vector<const Column*>& columns, bool named, Attribute& attribute)
      : columns_(columns), named_(named), attribute_(attribute) {
    for (std::size_t v = 0; v < attribute.values.size(); ++v)
      index_.emplace(attribute.values[v], static_cast<std::int32_t>(v));
  }

  void read(Index rows) {
    // One category column, the usual case: one look-up per level instead of one per row.
    const bool by_level = columns_.size() == 1 && columns_[0]->kind == ColumnKind::category;
    constexpr std::int32_t kUnknown = -2;
    std::vector<std::int32_t> of_level(by_level ? columns_[0]->levels.size() : 0, kUnknown);
    attribute_.code.assign(to_size(rows), -1);
    for (Index row = 0; row < rows; ++row) {
      std::int32_t& code = attribute_.code[to_size(row)];
      if (!by_level) {
        code = find(row);
      } else if (const std::int32_t level = columns_[0]->codes[to_size(row)]; level >= 0) {
        std::int32_t& known = of_level[to_size(level)];
        if (known == kUnknown) known = find(row);
        code = known;
      }
    }
  }

 private:
  std::int32_t find(Index row) {
    auto cells = row_value(columns_, row);
    if (!cells) return -1;
    const std::string text = join(*cells);
    if (const auto found = index_.find(text); found != index_.end()) return found->second;
    if (named_ || attribute_.values.size() > kMostValues) return -1;
    const auto code = static_cast<std::int32_t>(attribute_.values.size());
    index_.emplace(text, code);
    attribute_.values.push_back(text);
    attribute_.cells.push_back(std::move(*cells));
    return code;
  }

  const std::vector<const Column*>& columns_;
  bool named_;
  Attribute& attribute_;
  std::map<std::string, std::int32_t> index_;
};

void sort_values(Attribute& attribute) {
  const std::vector<Index> counts = attribute.counts();
  std::vector<std::int32_t> order(attribute.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const std::size_t i = to_size(a);
    const std::size_t j = to_size(b);
    return counts[i] != counts[j] ? counts[i] > counts[j]
                                  : attribute.values[i] < attribute.values[j];
  });
  std::vector<std::int32_t> place(order.size());
  const Attribute old = attribute;
  for (std::size_t v = 0; v < order.size(); ++v) {
    attribute.values[v] = old.values[to_size(order[v])];
    attribute.cells[v] = old.cells[to_size(order[v])];
    place[to_size(order[v])] = static_cast<std::int32_t>(v);
  }
  for (std::int32_t& code : attribute.code)
    if (code >= 0) code = place[to_size(code)];
}

void check_values(const Attribute& attribute, const Table& table, bool named) {
  const auto fail = [&](const std::string& what, const std::string& hint = "") {
    throw Error(
        ErrorKind::bad_data,
        fmt::format("attribute \"{}\" in {}: {}", attribute.name, table.source, what),
        hint);
  };
  if (attribute.values.size() > kMostValues) {
    fail(fmt::format("more than {} different values", kMostValues),
         "name the ones to compare: values = [...]");
  }
  if (attribute.values.size() < 2 && named) {
    throw Error(
        ErrorKind::bad_task,
        fmt::format("attribute \"{}\": values names one value, at least two are needed",
                    attribute.name));
  }
  if (attribute.values.empty()) fail("no row has a value");
  if (attribute.values.size() < 2) {
    fail(fmt::format("every row has the value \"{}\", two values are needed",
                     attribute.values[0]),
         "add rows with another value, or name it in task.toml: values = [...]");
  }
  if (std::all_of(attribute.code.begin(), attribute.code.end(),
                  [](auto code) { return code < 0; })) {
    fail("no row has one of the values " + quoted(attribute.values, 12));
  }
}

void set_reference(Attribute& attribute, const AttributeSpec& spec) {
  if (spec.reference.empty()) return;
  for (std::size_t v = 0; v < attribute.values.size(); ++v) {
    const std::string& value = attribute.values[v];
    if (value == spec.reference ||
        canonical_text(value) == canonical_text(spec.reference)) {
      attribute.reference = static_cast<std::int32_t>(v);
      return;
    }
  }
  throw Error(ErrorKind::bad_task,
              fmt::format("attribute \"{}\": reference \"{}\" is none of its values {}",
                          spec.name, spec.reference, quoted(attribute.values, 12)));
}

}  // namespace

std::vector<Index> Attribute::counts() const {
  std::vector<Index> counts(values.size(), 0);
  for (const std::int32_t value : code)
    if (value >= 0) ++counts[to_size(value)];
  return counts;
}

Attribute read_attribute(const Table& table, const AttributeSpec& spec) {
  Attribute attribute;
  attribute.name = spec.name;
  attribute.columns =
      spec.columns.empty() ? std::vector<std::string>{spec.name} : spec.columns;
  std::vector<const Column*> columns;
  for (const std::string& name : attribute.columns) columns.push_back(&table.column(name));
  const bool named = !spec.values.empty();
  for (const Column* column : columns)
    if (!named && column->kind == ColumnKind::number) fail_numbers(table, *column, spec);
  for (const std::string& value : spec.values) {
    std::vector<Cell> cells = parse_value(value, columns, spec);
    std::string text = join(cells);
    if (std::find(attribute.values.begin(), attribute.values.end(), text) !=
        attribute.values.end()) {
      throw Error(ErrorKind::bad_task,
                  fmt::format("attribute \"{}\": value \"{}\" is named twice", spec.name,
                              shorten(value)));
    }
    attribute.values.push_back(std::move(text));
    attribute.cells.push_back(std::move(cells));
  }
  CodeReader(columns, named, attribute).read(table.rows());
  check_values(attribute, table, named);
  sort_values(attribute);
  set_reference(attribute, spec);
  return attribute;
}

Table join_groups(const Table& table, const Table& groups, const std::string& key) {
  const Keys keys = read_keys(table, groups, key);
  const auto rows = index_keys(keys.right, groups, key);
  std::vector<Index> partner;
  partner.reserve(keys.left.size());
  for (std::size_t i = 0; i < keys.left.size(); ++i) {
    const auto found = rows.find(keys.left[i]);
    if (found == rows.end()) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}, column \"{}\": no row of {} has \"{}\"",
                              table.where(static_cast<Index>(i)), key, groups.source,
                              shorten(keys.left[i])),
                  "every row needs its group");
    }
    partner.push_back(found->second);
  }
  Table result = table;
  for (Column& column : select(groups, partner).columns)
    if (table.find(column.name) == nullptr) result.columns.push_back(std::move(column));
  return result;
}

}  // namespace fmd
