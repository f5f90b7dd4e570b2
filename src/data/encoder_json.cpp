#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "data/encode_column.h"
#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/data/encoder.h"

namespace fmd {
namespace {

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

EncodedColumn read_column(const JsonReader& object) {
  EncodedColumn column;
  column.name = object.text("name");
  if (column.name.empty()) object.fail("\"name\" is empty");
  column.kind = object.kind("kind");
  column.missing = object.count("missing");
  if (column.kind == ColumnKind::category) {
    read_levels(object, column);
    return column;
  }
  column.mean = object.number("mean");
  column.scale = object.number("scale");
  if (!(column.scale > 0)) object.fail("\"scale\" must be > 0");
  return column;
}

}  // namespace

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
      element.fail(fmt::format("column \"{}\" stands twice", encoder.columns_.back().name));
    }
  }
  encoder.place_features();
  if (object.count("features") != encoder.features()) {
    object.fail(fmt::format("\"features\" is {}, its columns make {}",
                            object.count("features"), encoder.features()));
  }
  return encoder;
}

}  // namespace fmd
