#include "fmd/pipeline/survey_state.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "metrics/tally/saved_state.h"

namespace fmd {
namespace {

constexpr std::uint32_t kSurveyFormat = 1;
constexpr std::size_t kSurveyValues = 256;     // of an attribute whose values are not named
constexpr std::size_t kSurveyTexts = 1 << 16;  // among which named values are looked for
constexpr std::size_t kSurveyNumbers = 1'000'000;

std::vector<std::string> surveyed_columns(const AttributeSpec& spec) {
  return spec.columns.empty() ? std::vector<std::string>{spec.name} : spec.columns;
}

}  // namespace

SurveyState::SurveyState(const Task& task) {
  for (const AttributeSpec& spec : task.attributes) {
    if (!spec.one_hot.empty()) {
      throw Error(
          ErrorKind::unsupported,
          fmt::format("attribute \"{}\": an audit in parts takes no one_hot columns",
                      spec.name),
          "audit all rows in one run");
    }
    values_.emplace_back().spec = spec;
  }
}

void SurveyState::require_few(const Values& values) const {
  if (values.texts.size() <= kSurveyTexts && values.numbers.size() <= kSurveyNumbers)
    return;
  throw Error(
      ErrorKind::unsupported,
      fmt::format("attribute \"{}\": too many different values for an audit in parts",
                  values.spec.name),
      "name the groups in task.toml, or audit all rows in one run");
}

void SurveyState::add(const Table& block, Values& values) const {
  std::vector<const Column*> columns;
  std::vector<ColumnKind> kinds;
  for (const std::string& name : surveyed_columns(values.spec)) {
    columns.push_back(&block.column(name));
    kinds.push_back(columns.back()->kind);
  }
  if (values.kinds.empty()) values.kinds = kinds;
  if (values.kinds != kinds) {
    throw Error(
        ErrorKind::bad_task,
        fmt::format("attribute \"{}\": its column has numbers in one part and texts "
                    "in another",
                    values.spec.name),
        "name its type in task.toml: [types]");
  }
  if (kinds == std::vector<ColumnKind>{ColumnKind::number}) {
    for (const double x : columns[0]->numbers)
      std::isnan(x) ? ++values.missing : ++values.numbers[x];
    return require_few(values);
  }
  // Texts are looked at once per combination of codes.
  std::map<std::vector<double>, Index> seen;
  std::vector<double> key(columns.size());
  std::map<std::vector<double>, Index> first;
  for (Index row = 0; row < block.rows(); ++row) {
    bool missing = false;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto i = static_cast<std::size_t>(row);
      const bool number = kinds[c] == ColumnKind::number;
      key[c] = number ? columns[c]->numbers[i] : columns[c]->codes[i];
      missing = missing || (number ? std::isnan(key[c]) : key[c] < 0);
    }
    if (missing) {
      ++values.missing;
    } else if (++seen[key] == 1) {
      first[key] = row;
    }
  }
  for (const auto& [cells, rows] : seen) {
    std::vector<std::string> texts;
    for (const Column* column : columns) texts.push_back(column->text(first[cells]));
    const bool crowded = values.spec.values.empty() && values.texts.size() > kSurveyValues;
    if (crowded && !values.texts.contains(texts)) continue;  // an error at the end
    values.texts[std::move(texts)] += rows;
  }
  require_few(values);
}

void SurveyState::add(const Table& block) {
  for (Values& values : values_) add(block, values);
  rows_ += block.rows();
}

void SurveyState::merge(const SurveyState& other) {
  bool same = values_.size() == other.values_.size();
  for (std::size_t a = 0; same && a < values_.size(); ++a)
    same = values_[a].spec == other.values_[a].spec;
  if (!same) {
    throw Error(ErrorKind::bad_option, "merge: these surveys are of other attributes",
                "make every survey with the same task");
  }
  for (std::size_t a = 0; a < values_.size(); ++a) {
    Values& to = values_[a];
    const Values& from = other.values_[a];
    if (to.kinds.empty()) to.kinds = from.kinds;
    if (!from.kinds.empty() && to.kinds != from.kinds) {
      throw Error(ErrorKind::bad_task,
                  fmt::format("attribute \"{}\": its column has numbers in one part and "
                              "texts in another",
                              to.spec.name),
                  "name its type in task.toml: [types]");
    }
    for (const auto& [texts, rows] : from.texts) to.texts[texts] += rows;
    for (const auto& [number, rows] : from.numbers) to.numbers[number] += rows;
    to.missing += from.missing;
    require_few(to);
  }
  rows_ += other.rows_;
}

void SurveyState::save(ByteWriter& out) const {
  out.put(kSurveyFormat);
  out.put(rows_);
  Task task;
  for (const Values& values : values_) task.attributes.push_back(values.spec);
  out.put_text(to_json(task));
  for (const Values& values : values_) {
    out.put(static_cast<std::uint64_t>(values.kinds.size()));
    for (const ColumnKind kind : values.kinds)
      out.put(static_cast<std::uint8_t>(kind == ColumnKind::number));
    out.put(static_cast<std::uint64_t>(values.texts.size()));
    for (const auto& [texts, rows] : values.texts) {
      for (const std::string& text : texts) out.put_text(text);
      out.put(rows);
    }
    out.put(static_cast<std::uint64_t>(values.numbers.size()));
    for (const auto& [number, rows] : values.numbers) {
      out.put(number);
      out.put(rows);
    }
    out.put(values.missing);
  }
}

SurveyState SurveyState::load(ByteReader& in) {
  if (in.get<std::uint32_t>() != kSurveyFormat) damaged_state("survey");
  SurveyState state;
  state.rows_ = in.get<Index>();
  state.values_ = SurveyState(task_from_json(in.get_text(), "survey")).values_;
  for (Values& values : state.values_) {
    const std::size_t columns = surveyed_columns(values.spec).size();
    const auto kinds = in.get<std::uint64_t>();
    if (kinds != 0 && kinds != columns) damaged_state("survey");
    for (std::uint64_t k = 0; k < kinds; ++k)
      values.kinds.push_back(in.get<std::uint8_t>() != 0 ? ColumnKind::number
                                                         : ColumnKind::category);
    Index total = 0;
    const auto count = [&] {
      const auto rows = in.get<Index>();
      if (rows < 1 || rows > state.rows_ - total) damaged_state("survey");
      total += rows;
      return rows;
    };
    for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
      std::vector<std::string> texts;
      for (std::uint64_t k = 0; k < kinds; ++k) texts.push_back(in.get_text());
      if (kinds == 0 || values.texts.contains(texts)) damaged_state("survey");
      values.texts[std::move(texts)] = count();
    }
    for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
      const auto number = in.get<double>();
      if (!std::isfinite(number) || values.numbers.contains(number))
        damaged_state("survey");
      values.numbers[number] = count();
    }
    const bool of_numbers = values.kinds == std::vector<ColumnKind>{ColumnKind::number};
    if (of_numbers ? !values.texts.empty() : !values.numbers.empty())
      damaged_state("survey");
    values.missing = in.get<Index>();
    if (values.missing < 0 || values.missing > state.rows_ - total) damaged_state("survey");
    state.require_few(values);
  }
  return state;
}

// The different cells are a small table. AttributeSurvey finds their values; the numbers of
// rows decide about the order.
Attribute SurveyState::attribute(const Values& values) const {
  const AttributeSpec& spec = values.spec;
  const std::vector<std::string> names = surveyed_columns(spec);
  Table table;
  table.source = "the parts";
  std::vector<Index> rows;
  for (std::size_t c = 0; c < names.size(); ++c)
    table.columns.push_back(
        {.name = names[c],
         .kind = c < values.kinds.size() ? values.kinds[c] : ColumnKind::category});
  for (const auto& [number, count] : values.numbers) {
    // Quantiles need every row; otherwise each number once is enough.
    const Index copies = spec.quantiles > 0 ? count : 1;
    if (table.columns[0].numbers.size() + static_cast<std::size_t>(copies) >
        kSurveyNumbers) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("attribute \"{}\": an audit in parts takes quantiles of at "
                              "most {} rows",
                              spec.name, kSurveyNumbers),
                  "name where the ranges begin: cuts = [...] in task.toml");
    }
    table.columns[0].numbers.insert(table.columns[0].numbers.end(),
                                    static_cast<std::size_t>(copies), number);
    rows.insert(rows.end(), static_cast<std::size_t>(copies), count / copies);
  }
  for (const auto& [texts, count] : values.texts) {
    for (std::size_t c = 0; c < names.size(); ++c) {
      Column& column = table.columns[c];
      if (column.kind == ColumnKind::number) {
        double number = 0;
        if (parse_number(texts[c], number) != NumberText::number) damaged_state("survey");
        column.numbers.push_back(number);
        continue;
      }
      const auto at = std::find(column.levels.begin(), column.levels.end(), texts[c]);
      column.codes.push_back(static_cast<std::int32_t>(at - column.levels.begin()));
      if (at == column.levels.end()) column.levels.push_back(texts[c]);
    }
    rows.push_back(count);
  }
  AttributeSurvey survey(spec);
  survey.add(table);
  Attribute attribute = survey.finish();
  attribute.missing = values.missing;
  if (attribute.cuts.empty()) {
    std::vector<std::int32_t> code;
    read_codes(attribute, table, code);
    std::vector<Index> of(attribute.values.size(), 0);
    for (std::size_t i = 0; i < code.size(); ++i)
      if (code[i] >= 0) of[static_cast<std::size_t>(code[i])] += rows[i];
    std::vector<std::size_t> order(of.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return of[a] != of[b] ? of[a] > of[b] : attribute.values[a] < attribute.values[b];
    });
    const Attribute before = attribute;
    for (std::size_t v = 0; v < order.size(); ++v) {
      attribute.values[v] = before.values[order[v]];
      attribute.cells[v] = before.cells[order[v]];
      if (before.reference == static_cast<std::int32_t>(order[v]))
        attribute.reference = static_cast<std::int32_t>(v);
    }
  }
  attribute.groups = attribute.values;
  if (attribute.missing > 0) attribute.groups.emplace_back(kMissingGroup);
  return attribute;
}

std::vector<Attribute> SurveyState::attributes() const {
  std::vector<Attribute> all;
  for (const Values& values : values_) all.push_back(attribute(values));
  return all;
}

std::string SurveyState::id() const {
  ByteWriter out;
  save(out);
  return hex(sha256(out.bytes()));
}

}  // namespace fmd
