#include "data/dataset_tables.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "data/level_index.h"
#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/data/csv.h"

namespace fmd::internal {
namespace {

using Words = std::map<std::string, std::string>;

Column& column_of(Table& table, const std::string& name) {
  return const_cast<Column&>(table.column(name));
}

// Gives the levels new texts. Levels that get the same text become one.
template <typename Rename>
void rename_levels(Column& column, const Rename& rename) {
  std::vector<std::string> levels;
  LevelIndex index(levels);
  std::vector<std::int32_t> place;
  for (const std::string& level : column.levels) place.push_back(index.code(rename(level)));
  for (std::int32_t& code : column.codes)
    if (code >= 0) code = place[to_size(code)];
  column.levels = std::move(levels);
}

void translate(Table& table, const std::string& name, const std::string& new_name,
               const Words& words) {
  Column& column = column_of(table, name);
  rename_levels(column, [&](const std::string& code) {
    const auto found = words.find(code);
    if (found != words.end()) return found->second;
    throw Error(ErrorKind::bad_data,
                fmt::format("{}, column \"{}\": no meaning is known for \"{}\"",
                            table.source, name, code));
  });
  column.name = new_name;
}

// The columns with these names, in this order.
void arrange(Table& table, const std::vector<std::string>& names) {
  std::vector<Column> columns;
  for (const std::string& name : names)
    columns.push_back(std::move(column_of(table, name)));
  table.columns = std::move(columns);
}

std::vector<Index> complete_rows(const Table& table) {
  std::vector<Index> rows;
  for (Index row = 0; row < table.rows(); ++row) {
    const bool complete =
        std::none_of(table.columns.begin(), table.columns.end(),
                     [row](const Column& column) { return column.text(row).empty(); });
    if (complete) rows.push_back(row);
  }
  return rows;
}

// The rows of both tables, which have the same columns. Without line numbers, which would
// be ambiguous.
Table append(Table first, const Table& second) {
  first.line.clear();
  for (std::size_t c = 0; c < first.columns.size(); ++c) {
    Column& to = first.columns[c];
    const Column& from = second.columns[c];
    to.missing += from.missing;
    to.numbers.insert(to.numbers.end(), from.numbers.begin(), from.numbers.end());
    LevelIndex index(to.levels);
    std::vector<std::int32_t> place;
    for (const std::string& level : from.levels) place.push_back(index.code(level));
    for (const std::int32_t code : from.codes)
      to.codes.push_back(code < 0 ? -1 : place[to_size(code)]);
  }
  return first;
}

Table adult_part(const std::string& text) {
  const CsvOptions options = {
      .names = {"age", "workclass", "fnlwgt", "education", "education-num",
                "marital-status", "occupation", "relationship", "race", "sex",
                "capital-gain", "capital-loss", "hours-per-week", "native-country",
                "income"},
      .comment = "|"};
  Table table = parse_csv(text, "adult", options);
  table = select(table, complete_rows(table));
  rename_levels(column_of(table, "race"), [](const std::string& race) {
    return std::string(race == "White" ? "White" : "Non-white");
  });
  rename_levels(column_of(table, "income"), [](std::string label) {
    if (label.ends_with('.')) label.pop_back();  // adult.test only
    return label;
  });
  arrange(table, {"age", "education-num", "race", "sex", "capital-gain", "capital-loss",
                  "hours-per-week", "workclass", "education", "marital-status",
                  "occupation", "relationship", "native-country", "income"});
  return table;
}

}  // namespace

Table adult_table(const std::vector<std::string>& texts) {
  Table table = adult_part(texts[0]);
  for (std::size_t i = 1; i < texts.size(); ++i)
    table = append(std::move(table), adult_part(texts[i]));
  return table;
}

Table german_table(const std::string& text) {
  CsvOptions options;
  options.types = {{"credit", ColumnKind::category}};
  Table table = parse_csv(text, "german", options);
  translate(table, "personal_status", "sex",
            {{"A91", "male"},
             {"A93", "male"},
             {"A94", "male"},
             {"A92", "female"},
             {"A95", "female"}});
  translate(table, "foreign_worker", "foreign_worker", {{"A201", "yes"}, {"A202", "no"}});
  translate(table, "credit", "credit", {{"1", "good"}, {"2", "bad"}});
  return table;
}

Table acs_table(const std::string& text) {
  CsvOptions options;
  for (const char* name :
       {"COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P", "PINCP"})
    options.types[name] = ColumnKind::category;
  Table table = parse_csv(text, "acs", options);
  translate(table, "SEX", "sex", {{"1", "Male"}, {"2", "Female"}});
  translate(table, "RAC1P", "race",
            {{"0", "White"},
             {"1", "Black"},
             {"2", "American Indian"},
             {"3", "Alaska Native"},
             {"4", "Amer. Indian, tribe not given"},
             {"5", "Asian"},
             {"6", "Pacific Islander"},
             {"7", "Other"},
             {"8", "Two or more"}});
  translate(table, "PINCP", "income", {{"0", "<=50000"}, {"1", ">50000"}});
  arrange(table, {"AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "sex",
                  "race", "income"});
  return table;
}

}  // namespace fmd::internal
