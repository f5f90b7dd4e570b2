#include "fmd/data/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "data/encoder/column_coder.h"
#include "data/json_reader.h"
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

// The share of the rows that have levels[1].
void fit_mean(const Column& column, std::span<const Index> rows, EncodedColumn& fitted) {
  Index count = 0;
  Index all = 0;
  for_rows(rows, column.rows(), [&](Index row) {
    ++all;
    count += column.levels[to_size(column.codes[to_size(row)])] == fitted.levels[1] ? 1 : 0;
  });
  fitted.mean = static_cast<double>(count) / static_cast<double>(all);
}

EncodedColumn fit_column(const Table& table, const Column& column,
                         std::span<const Index> rows, Unseen unseen) {
  EncodedColumn fitted;
  fitted.name = column.name;
  fitted.kind = column.kind;
  fitted.notation = column.notation;
  if (column.kind == ColumnKind::number) {
    fit_number(table, column, rows, fitted);
  } else {
    fitted.bucket = unseen == Unseen::bucket;
    fitted.counted = unseen == Unseen::counted;
    fit_category(column, rows, fitted);
    if (fitted.counted && one_feature(fitted)) fit_mean(column, rows, fitted);
  }
  if (fitted.missing == (rows.empty() ? column.rows() : std::ssize(rows))) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}, column \"{}\": has no value in any row", table.source,
                            column.name),
                "ignore this column");
  }
  return fitted;
}

class RowWriter {
 public:
  RowWriter(const Encoder& encoder, std::size_t rows) {
    const auto& columns = encoder.columns();
    only_ones_ = encoder.only_ones();
    rows_.cols = encoder.features();
    rows_.start.reserve(rows + 1);
    rows_.column.reserve(rows * columns.size());
    if (!only_ones_) rows_.value.reserve(rows * columns.size());
  }
  void add(FeatureEntry entry) {
    if (entry.column < 0) return;
    rows_.column.push_back(entry.column);
    if (!only_ones_) rows_.value.push_back(entry.value);
  }
  void end_row() { rows_.start.push_back(std::ssize(rows_.column)); }
  [[nodiscard]] CsrRows take() { return std::move(rows_); }

 private:
  CsrRows rows_;
  bool only_ones_ = false;
};

std::vector<ColumnReader> make_readers(const Encoder& encoder, const Table& table) {
  std::vector<ColumnReader> readers;
  for (const EncodedColumn& column : encoder.columns()) readers.emplace_back(column, table);
  return readers;
}

nlohmann::json to_object(const EncodedColumn& column) {
  nlohmann::json object = {
      {"name", column.name}, {"kind", kind_text(column.kind)}, {"missing", column.missing}};
  if (column.kind == ColumnKind::number) {
    object["mean"] = column.mean;
    object["scale"] = column.scale;
  } else {
    object["levels"] = column.levels;
    object["bucket"] = column.bucket;
  }
  if (column.counted) {
    object["unseen"] = "counted";
    if (one_feature(column)) object["mean"] = column.mean;
  }
  if (column.notation != Notation::plain) object["notation"] = to_string(column.notation);
  return object;
}

void read_levels(const JsonReader& object, EncodedColumn& column) {
  column.levels = object.texts("levels");
  column.bucket = object.flag("bucket");
  if (column.levels.empty()) object.fail("\"levels\" is empty");
  const auto unsorted =
      std::adjacent_find(column.levels.begin(), column.levels.end(),
                         [](const auto& a, const auto& b) { return a >= b; });
  if (unsorted != column.levels.end())
    object.fail("\"levels\" are not sorted, or not different");
  if (column.levels.front().empty() != (column.missing > 0)) {
    object.fail("\"levels\" and \"missing\" disagree about missing values");
  }
}

void read_counted(const JsonReader& object, EncodedColumn& column) {
  if (!object.has("unseen")) return;
  if (object.text("unseen") != "counted" || column.bucket)
    object.fail("\"unseen\" must be counted, without a bucket");
  column.counted = true;
  if (!one_feature(column)) return;
  column.mean = object.number("mean");
  if (column.mean < 0 || column.mean > 1) object.fail("\"mean\" must be a share");
}

Notation read_notation(const JsonReader& object, ColumnKind kind) {
  const std::optional<Notation> notation = parse_notation(object.text("notation"));
  if (!notation) object.fail("\"notation\" is not known");
  const bool codes = *notation == Notation::codes;
  if (*notation != Notation::plain && codes != (kind == ColumnKind::category))
    object.fail("\"notation\" and \"kind\" disagree");
  return *notation;
}

EncodedColumn read_column(const JsonReader& object) {
  EncodedColumn column;
  column.name = object.text("name");
  if (column.name.empty()) object.fail("\"name\" is empty");
  column.kind = object.kind("kind");
  column.missing = object.count("missing");
  if (object.has("notation")) column.notation = read_notation(object, column.kind);
  if (column.kind == ColumnKind::category) {
    read_levels(object, column);
    read_counted(object, column);
    return column;
  }
  column.mean = object.number("mean");
  column.scale = object.number("scale");
  if (!(column.scale > 0)) object.fail("\"scale\" must be > 0");
  return column;
}

}  // namespace

Encoder::Encoder(const Table& table, std::span<const std::string> columns,
                 std::span<const Index> rows, Unseen unseen) {
  for (const std::string& name : columns) {
    if (find(name) != nullptr) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("encoder: column \"{}\" is named twice", name));
    }
    columns_.push_back(fit_column(table, table.column(name), rows, unseen));
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
                "ignore columns with a different value in every row");
  }
}

Index Encoder::features() const {
  return columns_.empty() ? 0 : columns_.back().first + columns_.back().features;
}

bool Encoder::only_ones() const {
  return std::none_of(columns_.begin(), columns_.end(), [](const EncodedColumn& column) {
    return column.kind == ColumnKind::number || (column.counted && one_feature(column));
  });
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

CsrRows Encoder::encode(const Table& table, std::span<const Index> rows) const {
  const std::vector<ColumnReader> readers = make_readers(*this, table);
  const std::size_t count = rows.empty() ? to_size(table.rows()) : rows.size();
  RowWriter writer(*this, count);
  for_rows(rows, table.rows(), [&](Index row) {
    for (const ColumnReader& reader : readers) writer.add(reader.read(row));
    writer.end_row();
  });
  return writer.take();
}

FeaturePatch Encoder::patch(const Attribute& attribute,
                            std::span<const std::int32_t> to) const {
  FeaturePatch patch;
  patch.entries.resize(attribute.values.size());
  std::vector<bool> used(attribute.values.size(), false);
  for (const std::int32_t value : to) {
    if (value < 0 || value >= std::ssize(attribute.values)) {
      throw Error(ErrorKind::bad_shape,
                  fmt::format("attribute \"{}\" has {} values, no value {}", attribute.name,
                              used.size(), value));
    }
    used[to_size(value)] = true;
  }
  for (const EncodedColumn& column : columns_) {
    const auto& names = attribute.columns;
    const auto which = std::find(names.begin(), names.end(), column.name) - names.begin();
    if (which == std::ssize(names)) continue;
    patch.columns.emplace_back(column.first, column.first + column.features);
    const ColumnCoder coder(column);
    for (std::size_t v = 0; v < used.size(); ++v) {
      if (!used[v]) continue;
      const FeatureEntry entry =
          coder.read(attribute.cells[v][to_size(which)], attribute.name);
      if (entry.column >= 0) patch.entries[v].emplace_back(entry.column, entry.value);
    }
  }
  return patch;
}

std::string Encoder::to_json() const {
  nlohmann::json columns = nlohmann::json::array();
  for (const EncodedColumn& column : columns_) columns.push_back(to_object(column));
  return json_text({{"columns", columns}, {"features", features()}});
}

Encoder Encoder::from_json(const std::string& text, const std::string& source) {
  const nlohmann::json json = JsonReader::parse(text, source);
  const JsonReader object(json, source);
  Encoder encoder;
  std::map<std::string, Index> seen;
  for (const JsonReader& element : object.objects("columns")) {
    encoder.columns_.push_back(read_column(element));
    if (!seen.emplace(encoder.columns_.back().name, 0).second) {
      element.fail(
          fmt::format("column \"{}\" appears twice", encoder.columns_.back().name));
    }
  }
  encoder.place_features();
  if (object.count("features") != encoder.features()) {
    object.fail(fmt::format("\"features\" is {}, but its columns give {}",
                            object.count("features"), encoder.features()));
  }
  return encoder;
}

}  // namespace fmd
