#include "pipeline/match_space.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/model/whiten.h"
#include "fmd/model/without_columns.h"

namespace fmd::internal {
namespace {

constexpr Index kMostLevels = 8192;  // of all columns: rows are expanded to as many floats

// Codes of a column's values, -1 = missing.
std::vector<std::int32_t> value_codes(const Column& column, Index& levels) {
  if (column.kind == ColumnKind::category) {
    levels = static_cast<Index>(column.levels.size());
    return column.codes;
  }
  std::map<double, std::int32_t> known;
  std::vector<std::int32_t> codes;
  for (const double number : column.numbers) {
    if (std::isnan(number)) {
      codes.push_back(-1);
      continue;
    }
    codes.push_back(
        known.emplace(number, static_cast<std::int32_t>(known.size())).first->second);
  }
  levels = static_cast<Index>(known.size());
  return codes;
}

// One feature per value of each column: the product of two rows counts equal values.
// Missing values equal nothing.
MatchSpace overlap_space(const MatchInput& input) {
  MatchSpace space;
  space.distance = Distance::overlap;
  space.columns = input.spec->match_columns;
  if (space.columns.empty()) space.columns = input.columns;
  if (space.columns.empty()) {
    throw Error(ErrorKind::bad_option,
                fmt::format("match {}: no columns are named", input.attribute->name),
                "say which values partners should share: --match-columns COLUMN");
  }
  std::vector<std::vector<std::int32_t>> codes;
  std::vector<Index> first;
  Index levels = 0;
  for (const std::string& name : space.columns) {
    Index own = 0;
    codes.push_back(value_codes(input.table->column(name), own));
    first.push_back(levels);
    levels += own;
    if (levels > kMostLevels) {
      throw Error(
          ErrorKind::bad_option,
          fmt::format("match {}: the columns up to \"{}\" have {} different values",
                      input.attribute->name, name, levels),
          "overlap is for columns with few values: name those, or match by mahalanobis");
    }
  }
  CsrRows rows;
  rows.cols = levels;
  for (Index row = 0; row < input.table->rows(); ++row) {
    for (std::size_t c = 0; c < codes.size(); ++c) {
      const std::int32_t code = codes[c][static_cast<std::size_t>(row)];
      if (code >= 0) rows.column.push_back(static_cast<std::int32_t>(first[c]) + code);
    }
    rows.start.push_back(static_cast<Index>(rows.column.size()));
  }
  space.X = make_sparse(std::move(rows));
  space.scale = static_cast<double>(space.columns.size());
  return space;  // quality: the share of equal values
}

}  // namespace

MatchSpace match_space(const MatchInput& input, std::span<const std::int32_t> cell,
                       const Exec& exec) {
  const std::string by = match_by(*input.spec);
  if (by == "overlap") return overlap_space(input);
  if (input.X == nullptr) {
    throw Error(ErrorKind::bad_option,
                fmt::format("match {}: the distance {} needs a model's features",
                            input.attribute->name, by),
                "from scores alone: --pairs match:overlap --match-columns COLUMN");
  }
  MatchSpace space;
  space.X = without_columns(*input.X, input.own_features, exec);
  if (space.X->cols() == 0) {
    throw Error(
        ErrorKind::bad_data,
        fmt::format("match {}: the model reads no other column", input.attribute->name),
        "match by overlap of other columns: --match-columns COLUMN");
  }
  if (by == "cosine") {
    space.distance = Distance::cosine;
    return space;
  }
  Whitened white = whiten(*space.X, cell, exec);
  space.X = std::move(white.X);
  space.random = std::sqrt(2 * white.spread);
  return space;
}

}  // namespace fmd::internal
