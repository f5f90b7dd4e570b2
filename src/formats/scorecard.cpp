#include "fmd/formats/scorecard.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/index.h"
#include "data/words.h"
#include "fmd/model/encoder_backbone.h"

namespace fmd {
namespace {

const std::vector<std::string> kNames = {"feature", "term", "variable", "name"};
const std::vector<std::string> kNumbers = {"coefficient", "estimate", "coef", "weight"};
const std::vector<std::string> kIntercepts = {"(Intercept)", "intercept", "Intercept",
                                              "const", "_cons"};

const Column& first_of(const Table& table, const std::vector<std::string>& names,
                       ColumnKind kind) {
  for (const std::string& name : names) {
    const Column* column = table.find(name);
    if (column == nullptr) continue;
    if (column->kind == kind) return *column;
    throw Error(ErrorKind::bad_value,
                fmt::format("{}: the column \"{}\" must have {}", table.source, name,
                            kind == ColumnKind::number ? "numbers" : "texts"),
                "write one number for each name");
  }
  throw Error(ErrorKind::missing_column,
              fmt::format("{}: it has no column {}", table.source, list_words(names)),
              "a scorecard has two columns: feature,coefficient");
}

struct Scorecard {
  std::map<std::string, std::map<std::string, double>> levels;  // of each category
  std::map<std::string, double> numbers;
  std::vector<std::string> order;  // of columns, as they first appear
  double intercept = 0;
};

Scorecard parse_scorecard(const Table& table) {
  const Column& names = first_of(table, kNames, ColumnKind::category);
  const Column& values = first_of(table, kNumbers, ColumnKind::number);
  Scorecard card;
  bool has_intercept = false;
  for (Index row = 0; row < table.rows(); ++row) {
    const std::string name = names.text(row);
    const double value = values.numbers[at(row)];
    const auto fail = [&](const std::string& what) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}: \"{}\" {}", table.where(row), shorten(name), what),
                  "write each column, or each level as column=level, once");
    };
    if (name.empty()) fail("has no name");
    if (!std::isfinite(value)) fail("has no coefficient");
    if (std::find(kIntercepts.begin(), kIntercepts.end(), name) != kIntercepts.end()) {
      if (has_intercept) fail("appears twice");
      has_intercept = true;
      card.intercept = value;
      continue;
    }
    const std::size_t equals = name.find('=');
    const std::string column = name.substr(0, equals);
    if (column.empty()) fail("names no column");
    const bool known = card.numbers.contains(column) || card.levels.contains(column);
    if (!known) card.order.push_back(column);
    const bool number = equals == std::string::npos;
    if (known && number != card.numbers.contains(column))
      fail("is a number here and a category elsewhere");
    const bool fresh =
        number ? card.numbers.emplace(column, value).second
               : card.levels[column].emplace(name.substr(equals + 1), value).second;
    if (!fresh) fail("appears twice");
  }
  if (card.order.empty())
    throw Error(ErrorKind::bad_data, fmt::format("{}: it names no column", table.source),
                "write a coefficient for at least one column");
  return card;
}

}  // namespace

Encoder plain_encoder(const std::vector<PlainColumn>& columns, const std::string& source) {
  nlohmann::json list = nlohmann::json::array();
  Index features = 0;
  for (const PlainColumn& column : columns) {
    if (column.kind == ColumnKind::number) {
      list.push_back({{"name", column.name},
                      {"kind", "number"},
                      {"mean", 0.0},
                      {"scale", 1.0},
                      {"missing", 0}});
      features += 1;
      continue;
    }
    list.push_back({{"name", column.name},
                    {"kind", "category"},
                    {"levels", column.levels},
                    {"missing", 0},
                    {"bucket", true}});
    features += std::ssize(column.levels) + 1;
  }
  return Encoder::from_json(
      nlohmann::json{{"columns", list}, {"features", features}}.dump(), source);
}

Model read_scorecard(const Table& coefficients, Task task) {
  const Scorecard card = parse_scorecard(coefficients);
  std::vector<PlainColumn> columns;
  std::vector<double> weights;
  for (const std::string& name : card.order) {
    const auto levels = card.levels.find(name);
    if (levels == card.levels.end()) {
      columns.push_back({.name = name});
      weights.push_back(card.numbers.at(name));
      continue;
    }
    PlainColumn& column =
        columns.emplace_back(PlainColumn{.name = name, .kind = ColumnKind::category});
    for (const auto& [level, weight] : levels->second) {
      if (level.empty())
        throw Error(ErrorKind::bad_value,
                    fmt::format("{}: \"{}=\" names no level", coefficients.source, name),
                    "a missing cell counts 0: leave it out");
      column.levels.push_back(level);
      weights.push_back(weight);
    }
    weights.push_back(0);  // other levels
  }
  Model model;
  model.task = std::move(task);
  model.backbone =
      std::make_shared<const EncoderBackbone>(plain_encoder(columns, coefficients.source));
  const auto inputs = static_cast<Index>(weights.size());
  const LinearHead head(inputs, 1);
  model.head = std::make_shared<const LinearHead>(head);
  model.theta = head.from(Eigen::Map<const Matrix>(weights.data(), 1, inputs),
                          Vector::Constant(1, card.intercept));
  return model;
}

}  // namespace fmd
