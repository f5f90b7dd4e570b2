#include "fmd/data/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "data/encode_column.h"
#include "data/number.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

void fit_number(const Table& table, const Column& column, std::span<const Index> rows,
                EncodedColumn& fitted) {
  double mean = 0;
  Index count = 0;
  for_rows(rows, column.rows(), [&](Index row) {
    const double x = column.numbers[to_size(row)];
    if (std::isnan(x)) return;
    if (!std::isfinite(x)) {
      throw Error(ErrorKind::bad_value, fmt::format("{}, column \"{}\": {} is not finite",
                                                    table.where(row), column.name, x));
    }
    ++count;
    mean += (x - mean) / static_cast<double>(count);  // exact where all are equal
  });
  double squares = 0;
  for_rows(rows, column.rows(), [&](Index row) {
    const double x = column.numbers[to_size(row)];
    if (!std::isnan(x)) squares += (x - mean) * (x - mean);
  });
  const double deviation = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
  if (!std::isfinite(mean) || !std::isfinite(deviation)) {
    throw Error(ErrorKind::bad_value,
                fmt::format("{}, column \"{}\": numbers too large to standardise",
                            table.source, column.name),
                "use another unit");
  }
  fitted.mean = mean;
  fitted.scale = deviation > 0 ? deviation : 1;
  fitted.missing = (rows.empty() ? column.rows() : std::ssize(rows)) - count;
}

void fit_category(const Column& column, std::span<const Index> rows,
                  EncodedColumn& fitted) {
  std::vector<bool> seen(column.levels.size(), false);
  for_rows(rows, column.rows(), [&](Index row) {
    const std::int32_t code = column.codes[to_size(row)];
    if (code < 0) {
      ++fitted.missing;
    } else {
      seen[to_size(code)] = true;
    }
  });
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i]) fitted.levels.push_back(column.levels[i]);
  if (fitted.missing > 0) fitted.levels.emplace_back();
  std::sort(fitted.levels.begin(), fitted.levels.end());
}

EncodedColumn fit(const Table& table, const Column& column, std::span<const Index> rows,
                  Unseen unseen) {
  EncodedColumn fitted;
  fitted.name = column.name;
  fitted.kind = column.kind;
  if (column.kind == ColumnKind::number) {
    fit_number(table, column, rows, fitted);
  } else {
    fitted.bucket = unseen == Unseen::bucket;
    fit_category(column, rows, fitted);
  }
  if (fitted.missing == (rows.empty() ? column.rows() : std::ssize(rows))) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}, column \"{}\": has no value in any row", table.source,
                            column.name),
                "ignore this column");
  }
  return fitted;
}

}  // namespace

Encoder::Encoder(const Table& table, std::span<const std::string> columns,
                 std::span<const Index> rows, Unseen unseen) {
  for (const std::string& name : columns) {
    if (find(name) != nullptr) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("encoder: column \"{}\" is named twice", name));
    }
    columns_.push_back(fit(table, table.column(name), rows, unseen));
  }
  place_features();
}

void Encoder::place_features() {
  Index next = 0;
  for (EncodedColumn& column : columns_) {
    column.first = next;
    if (column.kind == ColumnKind::number) {
      column.features = column.missing > 0 ? 2 : 1;
    } else {
      column.features =
          one_feature(column) ? 1 : std::ssize(column.levels) + (column.bucket ? 1 : 0);
    }
    next += column.features;
  }
  if (next > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("encoder: {} features, at most 2147483647", next),
                "ignore columns that have a value of its own for every row");
  }
}

Index Encoder::features() const {
  return columns_.empty() ? 0 : columns_.back().first + columns_.back().features;
}

const EncodedColumn* Encoder::find(const std::string& column) const {
  const auto at = std::find_if(columns_.begin(), columns_.end(),
                               [&](const EncodedColumn& c) { return c.name == column; });
  return at == columns_.end() ? nullptr : &*at;
}

bool Encoder::reads(const Attribute& attribute) const {
  return std::any_of(attribute.columns.begin(), attribute.columns.end(),
                     [this](const std::string& name) { return find(name) != nullptr; });
}

std::vector<std::string> Encoder::feature_names() const {
  std::vector<std::string> names;
  for (const EncodedColumn& column : columns_) {
    if (column.kind == ColumnKind::number) {
      names.push_back(column.name);
      if (column.missing > 0) names.push_back(column.name + " is missing");
    } else {
      for (std::size_t i = one_feature(column) ? 1 : 0; i < column.levels.size(); ++i) {
        const std::string& level = column.levels[i];
        names.push_back(level.empty() ? column.name + " is missing"
                                      : column.name + "=" + level);
      }
      if (column.bucket) names.push_back(column.name + "=(unseen)");
    }
  }
  return names;
}

std::map<std::string, ColumnKind> Encoder::types() const {
  std::map<std::string, ColumnKind> types;
  for (const EncodedColumn& column : columns_) types.emplace(column.name, column.kind);
  return types;
}

Index Encoder::missing_numbers(const Table& table) const {
  Index count = 0;
  for (const EncodedColumn& column : columns_)
    if (column.kind == ColumnKind::number) count += table.column(column.name).missing;
  return count;
}

}  // namespace fmd
