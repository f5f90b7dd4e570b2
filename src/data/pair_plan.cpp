#include "fmd/data/pair_plan.h"

#include <cmath>

#include <fmt/format.h>

#include "data/keys.h"
#include "data/level_index.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

// Puts fmd_row, fmd_from and fmd_to in front of the columns of the flipped table.
void add_plan_columns(const Attribute& attribute, const PairPlan& plan, Table& table) {
  Column row{.name = "fmd_row"};
  Column from{.name = "fmd_from", .kind = ColumnKind::category, .levels = attribute.values};
  Column to{.name = "fmd_to", .kind = ColumnKind::category, .levels = attribute.values};
  for (const Index r : plan.row) row.numbers.push_back(static_cast<double>(r + 1));
  from.codes = plan.from;
  to.codes = plan.to;
  table.columns.insert(table.columns.begin(),
                       {std::move(row), std::move(from), std::move(to)});
}

void set_cells(const Attribute& attribute, std::size_t which, const PairPlan& plan,
               Column& column) {
  LevelIndex index(column.levels);
  std::vector<std::int32_t> codes;
  for (const auto& cells : attribute.cells)
    codes.push_back(column.kind == ColumnKind::category ? index.code(cells[which].text)
                                                        : 0);
  for (std::size_t i = 0; i < plan.to.size(); ++i) {
    const std::size_t value = to_size(plan.to[i]);
    if (column.kind == ColumnKind::number) {
      column.numbers[i] = attribute.cells[value][which].number;
    } else {
      column.codes[i] = codes[value];
    }
  }
  column.missing = 0;
}

}  // namespace

PairPlan flip_plan(const Attribute& attribute, std::span<const Index> rows) {
  if (!attribute.flips()) {
    throw Error(ErrorKind::bad_task,
                fmt::format("attribute \"{}\": ranges of a number cannot be flipped: a "
                            "range has no single value to flip to",
                            attribute.name),
                "name the numbers to flip between: values = [...]");
  }
  PairPlan plan;
  plan.attribute = attribute.name;
  const auto values = static_cast<std::int32_t>(attribute.values.size());
  const auto unseen = [&](std::int32_t value) {
    return !attribute.unseen.empty() && attribute.unseen[to_size(value)];
  };
  std::int32_t known = 0;
  for (std::int32_t value = 0; value < values; ++value) known += unseen(value) ? 0 : 1;
  const float weight = known > 1 ? 1.0F / static_cast<float>(known - 1) : 0.0F;
  const auto add_row = [&](Index row) {
    const std::int32_t own = attribute.code[to_size(row)];
    if (own < 0 || unseen(own)) return;
    for (std::int32_t other = 0; other < values; ++other) {
      if (other == own || unseen(other)) continue;
      plan.row.push_back(row);
      plan.from.push_back(own);
      plan.to.push_back(other);
      plan.weight.push_back(weight);
    }
  };
  if (rows.empty()) {
    for (Index row = 0; row < std::ssize(attribute.code); ++row) add_row(row);
  } else {
    for (const Index row : rows) add_row(row);
  }
  return plan;
}

Table flipped_rows(const Table& table, const Attribute& attribute, const PairPlan& plan) {
  Table result = select(table, plan.row);
  for (std::size_t which = 0; which < attribute.columns.size(); ++which) {
    for (Column& column : result.columns)
      if (column.name == attribute.columns[which])
        set_cells(attribute, which, plan, column);
  }
  return result;
}

Table flipped_table(const Table& table, const Attribute& attribute, const PairPlan& plan) {
  for (const char* name : {"fmd_row", "fmd_from", "fmd_to"}) {
    if (table.find(name) == nullptr) continue;
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: already has a column \"{}\"", table.source, name),
                "give the original table, not one that was made by flipping");
  }
  Table result = flipped_rows(table, attribute, plan);
  add_plan_columns(attribute, plan, result);
  return result;
}

GivenPairs join_pairs(const Table& table, const Table& given, const std::string& id) {
  const Keys keys = read_keys(table, given, id);
  (void)index_keys(keys.left, table, id);  // throws when an id appears twice
  const auto right = index_keys(keys.right, given, id);
  GivenPairs pairs;
  for (std::size_t i = 0; i < keys.left.size(); ++i) {
    const auto found = right.find(keys.left[i]);
    if (found == right.end()) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}, column \"{}\": \"{}\" has no partner in {}",
                              table.where(static_cast<Index>(i)), id, shorten(keys.left[i]),
                              given.source),
                  "every row needs its counterpart there, by the same id");
    }
    pairs.row.push_back(static_cast<Index>(i));
    pairs.other.push_back(found->second);
  }
  return pairs;
}

}  // namespace fmd
