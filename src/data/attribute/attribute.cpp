#include "fmd/data/attribute.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "data/attribute/mirrors.h"
#include "data/attribute/one_hot.h"
#include "data/attribute/ranges.h"
#include "data/attribute/values.h"
#include "data/keys.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"

namespace fmd {
namespace {

constexpr std::size_t kMostValues = 256;       // more is an id column by mistake
constexpr std::size_t kMostWholeNumbers = 20;  // more are a quantity
constexpr std::size_t kMostNumbers = 1000000;  // beyond that quantiles come from a sample

std::string quoted_words(const std::vector<std::string>& values, std::size_t limit) {
  std::vector<std::string> result;
  for (const std::string& value : values) result.push_back('"' + value + '"');
  return list_words(result, limit);
}

std::vector<std::string> columns_of(const AttributeSpec& spec) {
  return spec.columns.empty() ? std::vector<std::string>{spec.name} : spec.columns;
}

// It cannot be guessed which numbers are groups: 17 to 90 are not.
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
      fmt::format("attribute \"{}\": column \"{}\" of {} has {} different numbers; name "
                  "the groups by values, quantiles or cuts",
                  spec.name, column.name, table.source, numbers.size()),
      fmt::format("--attribute {}:4 for four quantiles; in task.toml: quantiles = 4, cuts "
                  "= [...], values = [{}], or [types] {} = \"category\"",
                  spec.name, quoted_words(texts, 4), column.name));
}

[[noreturn]] void fail_attribute(const std::string& attribute, const std::string& source,
                                 const std::string& what, const std::string& hint = "") {
  throw Error(ErrorKind::bad_data,
              fmt::format("attribute \"{}\" in {}: {}", attribute, source, what), hint);
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
              fmt::format("attribute \"{}\": reference \"{}\" is not one of its values {}",
                          spec.name, spec.reference, quoted_words(attribute.values, 12)));
}

struct Counted {
  std::string value;
  std::vector<Cell> cells;
  Index rows = 0;
};

// Values with most rows first, ties by text.
void set_values(std::vector<Counted> counted, Attribute& attribute) {
  std::sort(counted.begin(), counted.end(), [](const Counted& a, const Counted& b) {
    return a.rows != b.rows ? a.rows > b.rows : a.value < b.value;
  });
  attribute.values.clear();
  attribute.cells.clear();
  for (Counted& one : counted) {
    attribute.values.push_back(std::move(one.value));
    attribute.cells.push_back(std::move(one.cells));
  }
}

void check_found(const Attribute& attribute, const std::string& source) {
  const std::vector<std::string>& values = attribute.values;
  if (values.size() > kMostValues) {
    fail_attribute(attribute.name, source,
                   fmt::format("more than {} different values", kMostValues),
                   "name the ones to compare: values = [...]");
  }
  if (values.empty()) fail_attribute(attribute.name, source, "no row has a value");
  if (values.size() < 2) {
    fail_attribute(
        attribute.name, source,
        fmt::format("every row has the value \"{}\", two values are needed", values[0]),
        "add rows with another value, or name it in task.toml: values = [...]");
  }
}

std::size_t own_columns(const Attribute& attribute) {
  return attribute.own == 0 ? attribute.columns.size() : attribute.own;
}

constexpr std::int32_t kMissingPart = -1;
constexpr std::int32_t kOtherPart = -2;

// Reads one column of the attribute. A part is one of the different texts that the values
// of the attribute have in this column.
class PartReader {
 public:
  PartReader(const Attribute& attribute, std::size_t which, const Table& block)
      : column_(block.column(attribute.columns[which])) {
    std::map<std::string, std::int32_t> of_text;
    std::map<double, std::int32_t> of_number;
    for (const auto& cells : attribute.cells) {
      const std::string& text = cells[which].text;
      const auto part =
          of_text.emplace(text, static_cast<std::int32_t>(of_text.size())).first->second;
      part_of_value_.push_back(part);
      double number = 0;
      if (parse_number(text, number) == NumberText::number) of_number.emplace(number, part);
    }
    of_number_ = std::move(of_number);
    for (const std::string& level : column_.levels) {
      const auto found = of_text.find(level);
      of_level_.push_back(found == of_text.end() ? kOtherPart : found->second);
    }
  }

  [[nodiscard]] std::int32_t part_of_value(std::size_t value) const {
    return part_of_value_[value];
  }

  [[nodiscard]] std::int32_t read(Index row) const {
    if (column_.kind == ColumnKind::category) {
      const std::int32_t level = column_.codes[to_size(row)];
      return level < 0 ? kMissingPart : of_level_[to_size(level)];
    }
    const double number = column_.numbers[to_size(row)];
    if (std::isnan(number)) return kMissingPart;
    const auto found = of_number_.find(number);
    return found == of_number_.end() ? kOtherPart : found->second;
  }

 private:
  const Column& column_;
  std::vector<std::int32_t> part_of_value_, of_level_;
  std::map<double, std::int32_t> of_number_;
};

void read_ranges(const Attribute& attribute, const Table& block, std::int32_t missing,
                 std::vector<std::int32_t>& code) {
  const Column& column = block.column(attribute.columns[0]);
  if (column.kind != ColumnKind::number) {
    throw Error(ErrorKind::bad_task,
                fmt::format("attribute \"{}\": column \"{}\" of {} has categories; ranges "
                            "are for numbers",
                            attribute.name, column.name, block.source),
                fmt::format("[types] {} = \"number\", or leave quantiles and cuts out",
                            column.name));
  }
  for (std::size_t row = 0; row < code.size(); ++row) {
    const double number = column.numbers[row];
    const auto at = std::upper_bound(attribute.cuts.begin(), attribute.cuts.end(), number);
    code[row] = std::isnan(number) ? missing
                                   : static_cast<std::int32_t>(at - attribute.cuts.begin());
  }
}

void read_one_column(const Attribute& attribute, const Table& block, std::int32_t missing,
                     std::vector<std::int32_t>& code) {
  const PartReader reader(attribute, 0, block);
  std::vector<std::int32_t> value(attribute.values.size());
  for (std::size_t v = 0; v < value.size(); ++v)
    value[to_size(reader.part_of_value(v))] = static_cast<std::int32_t>(v);
  for (std::size_t row = 0; row < code.size(); ++row) {
    const std::int32_t part = reader.read(static_cast<Index>(row));
    code[row] = part >= 0 ? value[to_size(part)] : part == kMissingPart ? missing : -1;
  }
}

void read_joined(const Attribute& attribute, const Table& block, std::int32_t missing,
                 std::vector<std::int32_t>& code) {
  std::vector<PartReader> readers;
  for (std::size_t c = 0; c < own_columns(attribute); ++c)
    readers.emplace_back(attribute, c, block);
  std::vector<std::int32_t> parts(readers.size());
  std::map<std::vector<std::int32_t>, std::int32_t> value;
  for (std::size_t v = 0; v < attribute.values.size(); ++v) {
    for (std::size_t c = 0; c < parts.size(); ++c) parts[c] = readers[c].part_of_value(v);
    value.emplace(parts, static_cast<std::int32_t>(v));
  }
  for (std::size_t row = 0; row < code.size(); ++row) {
    for (std::size_t c = 0; c < parts.size(); ++c)
      parts[c] = readers[c].read(static_cast<Index>(row));
    if (std::find(parts.begin(), parts.end(), kMissingPart) != parts.end()) {
      code[row] = missing;
    } else {
      const auto found = value.find(parts);
      code[row] = found == value.end() ? -1 : found->second;
    }
  }
}

void read_values(const Attribute& attribute, const Table& block, std::int32_t missing,
                 std::vector<std::int32_t>& code) {
  code.assign(to_size(block.rows()), -1);
  if (!attribute.cuts.empty()) {
    read_ranges(attribute, block, missing, code);
  } else if (own_columns(attribute) == 1) {
    read_one_column(attribute, block, missing, code);
  } else {
    read_joined(attribute, block, missing, code);
  }
}

}  // namespace

std::vector<Index> Attribute::counts() const {
  std::vector<Index> counts(values.size(), 0);
  for (const std::int32_t value : code)
    if (value >= 0) ++counts[to_size(value)];
  return counts;
}

AttributeSurvey::AttributeSurvey(AttributeSpec spec, std::uint64_t seed,
                                 std::vector<std::string> inputs)
    : spec_(std::move(spec)), seed_(seed) {
  if (!inputs.empty() && spec_.quantiles == 0 && spec_.cuts.empty())
    mirrors_ = std::make_shared<MirrorSurvey>(std::move(inputs));
}

// Takes from the first block its name and the kinds of the columns.
void AttributeSurvey::begin(const Table& block) {
  begun_ = true;
  source_ = block.source;
  named_.name = spec_.name;
  named_.columns = columns_of(spec_);
  if (!spec_.values.empty()) named_ = named_values(spec_, block);
  if (!spec_.one_hot.empty()) named_ = one_hot_values(spec_, block);
  if (!spec_.cuts.empty()) named_.values = range_names(named_.cuts = spec_.cuts);
  rows_.assign(named_.values.size(), 0);
  named_.groups = named_.values;
  named_.groups.emplace_back(kMissingGroup);
}

void AttributeSurvey::add(const Table& block) {
  if (!begun_) begin(block);
  if (mirrors_ != nullptr) mirrors_->add(block, named_.columns);
  if (spec_.quantiles > 0) {
    add_numbers(block.column(named_.columns[0]));
  } else if (!rows_.empty()) {
    add_named(block);
  } else {
    add_found(block);
  }
}

// Keeps all numbers while they are few. Then every further number replaces a random one,
// with the probability that keeps all numbers equally likely to be in the sample.
void AttributeSurvey::add_numbers(const Column& column) {
  if (column.kind != ColumnKind::number) {
    throw Error(
        ErrorKind::bad_task,
        fmt::format("attribute \"{}\": column \"{}\" of {} has categories; "
                    "quantiles are for numbers",
                    spec_.name, column.name, source_),
        fmt::format("[types] {} = \"number\", or leave quantiles out", column.name));
  }
  for (const double number : column.numbers) {
    if (std::isnan(number)) {
      ++missing_;
      continue;
    }
    const Index place = numbers_seen_++;
    if (numbers_.size() < kMostNumbers) {
      numbers_.push_back(number);
      continue;
    }
    const Index other =
        Rng(seed_, "quantiles", static_cast<std::uint64_t>(place)).below(place + 1);
    if (other < static_cast<Index>(kMostNumbers)) numbers_[to_size(other)] = number;
  }
}

void AttributeSurvey::add_named(const Table& block) {
  std::vector<std::int32_t> group;
  read_groups(named_, block, group);
  for (const std::int32_t g : group)
    if (g >= 0) {
      g == std::ssize(rows_) ? ++missing_ : ++rows_[to_size(g)];
    } else {
      odd_rows_ += spec_.one_hot.empty() ? 0 : 1;
    }
}

// Counts rows by the codes of their levels. Texts are looked at once per level, or once per
// combination of levels.
void AttributeSurvey::add_found(const Table& block) {
  std::vector<const Column*> columns;
  for (const std::string& name : named_.columns) columns.push_back(&block.column(name));
  if (columns.size() == 1 && columns[0]->kind == ColumnKind::number)
    return add_whole_numbers(block, *columns[0]);
  for (const Column* column : columns)
    if (column->kind == ColumnKind::number) fail_numbers(block, *column, spec_);
  const auto found = [&](const std::vector<std::int32_t>& levels, Index rows) {
    std::vector<Cell> cells;
    for (std::size_t c = 0; c < columns.size(); ++c)
      cells.push_back({.text = columns[c]->levels[to_size(levels[c])], .number = 0});
    std::string text = join_cells(cells);
    if (found_.size() > kMostValues && !found_.contains(text)) return;
    Found& one = found_[std::move(text)];
    one.cells = std::move(cells);
    one.rows += rows;
  };
  if (columns.size() == 1) {
    std::vector<Index> rows(columns[0]->levels.size(), 0);
    for (const std::int32_t level : columns[0]->codes)
      level < 0 ? ++missing_ : ++rows[to_size(level)];
    for (std::size_t level = 0; level < rows.size(); ++level)
      if (rows[level] > 0) found({static_cast<std::int32_t>(level)}, rows[level]);
    return;
  }
  std::map<std::vector<std::int32_t>, Index> rows;
  std::vector<std::int32_t> levels(columns.size());
  for (std::size_t row = 0; row < to_size(block.rows()); ++row) {
    for (std::size_t c = 0; c < columns.size(); ++c) levels[c] = columns[c]->codes[row];
    const bool missing = std::any_of(levels.begin(), levels.end(),
                                     [](std::int32_t level) { return level < 0; });
    missing ? ++missing_ : ++rows[levels];
  }
  for (const auto& [combination, count] : rows) found(combination, count);
}

// 0 and 1, or 1 to 9, are groups: this is how public tables come.
void AttributeSurvey::add_whole_numbers(const Table& block, const Column& column) {
  whole_numbers_ = true;
  std::map<double, Index> rows;
  for (const double number : column.numbers) {
    if (std::isnan(number)) {
      ++missing_;
      continue;
    }
    ++rows[number];
    if (rows.size() > kMostWholeNumbers || number != std::floor(number))
      fail_numbers(block, column, spec_);
  }
  for (const auto& [number, count] : rows) {
    Found& one = found_[number_text(number)];
    one.cells = {{.text = number_text(number), .number = number}};
    one.rows += count;
  }
  if (found_.size() > kMostWholeNumbers) fail_numbers(block, column, spec_);
}

Attribute AttributeSurvey::quantiles() const {
  Attribute attribute = named_;
  if (numbers_.empty()) fail_attribute(spec_.name, source_, "no row has a value");
  attribute.cuts = quantile_cuts(numbers_, spec_.quantiles);
  if (attribute.cuts.empty()) {
    fail_attribute(spec_.name, source_,
                   fmt::format("every row has the number {}, two are needed",
                               number_text(numbers_[0])),
                   "add rows with another value");
  }
  attribute.values = range_names(attribute.cuts);
  return attribute;
}

Attribute AttributeSurvey::finish() const {
  Attribute attribute = named_;
  if (spec_.quantiles > 0) {
    attribute = quantiles();
  } else if (spec_.cuts.empty()) {
    std::vector<Counted> counted;
    for (std::size_t v = 0; v < named_.values.size(); ++v)
      counted.push_back({named_.values[v], named_.cells[v], rows_[v]});
    for (const auto& [value, found] : found_)
      counted.push_back({value, found.cells, found.rows});
    set_values(std::move(counted), attribute);
    if (spec_.values.empty()) check_found(attribute, source_);
  }
  if (!rows_.empty() &&
      std::all_of(rows_.begin(), rows_.end(), [](Index rows) { return rows == 0; }))
    fail_attribute(spec_.name, source_,
                   "no row has one of the values " + quoted_words(attribute.values, 12));
  set_reference(attribute, spec_);
  attribute.missing = missing_;
  attribute.whole_numbers = whole_numbers_;
  attribute.odd_rows = odd_rows_;
  attribute.groups = attribute.values;
  if (missing_ > 0) attribute.groups.emplace_back(kMissingGroup);
  if (mirrors_ != nullptr) mirrors_->finish(attribute);
  return attribute;
}

void read_codes(const Attribute& attribute, const Table& block,
                std::vector<std::int32_t>& code) {
  read_values(attribute, block, -1, code);
}

void read_groups(const Attribute& attribute, const Table& block,
                 std::vector<std::int32_t>& group) {
  const bool is_group = attribute.groups.size() > attribute.values.size();
  read_values(attribute, block,
              is_group ? static_cast<std::int32_t>(attribute.values.size()) : -1, group);
}

Attribute read_attribute(const Table& table, const AttributeSpec& spec,
                         const std::vector<std::string>& inputs) {
  AttributeSurvey survey(spec, 1, inputs);
  survey.add(table);
  Attribute attribute = survey.finish();
  std::vector<std::int32_t> code;
  read_codes(attribute, table, code);
  attribute.code = std::move(code);
  read_groups(attribute, table, attribute.group);
  return attribute;
}

std::vector<std::string> notes_of(const Attribute& attribute) {
  std::vector<std::string> notes;
  if (attribute.whole_numbers)
    notes.push_back(fmt::format("{}: {} different whole numbers are taken as groups",
                                attribute.name, attribute.values.size()));
  if (attribute.odd_rows > 0)
    notes.push_back(fmt::format("{}: {} row{} none or several of its columns set; left out",
                                attribute.name, attribute.odd_rows,
                                attribute.odd_rows == 1 ? " has" : "s have"));
  for (const Mirror& mirror : attribute.mirrors) {
    const std::string exceptions =
        mirror.exceptions == 0 ? "" : fmt::format(" but for {} rows", mirror.exceptions);
    notes.push_back(
        mirror.flipped
            ? fmt::format("{}: {} says the same{}; it is flipped with it", attribute.name,
                          mirror.column, exceptions)
            : fmt::format(
                  "{}: it can be told from {}{}, which has other values and stays as "
                  "it is: no limit on flips can pass",
                  attribute.name, mirror.column, exceptions));
  }
  std::vector<std::string> unseen;
  for (std::size_t v = 0; v < attribute.unseen.size(); ++v)
    if (attribute.unseen[v]) unseen.push_back(attribute.values[v]);
  if (!unseen.empty())
    notes.push_back(
        fmt::format("{}: training has not seen {}; rows with such a value are "
                    "left out of flips",
                    attribute.name, quoted_words(unseen, 12)));
  return notes;
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
