#include "pipeline/score_files.h"

#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "data/number.h"
#include "fmd/core/error.h"

namespace fmd {

std::vector<float> audit_weights(const Table& table, const Task& task) {
  if (!task.weight.empty()) return row_weights(table, task.weight);
  throw Error(ErrorKind::bad_option, "audit: --weighted, but no column of weights is named",
              "name it with --weight COLUMN");
}

Matrix read_probabilities(const Table& table, const Task& task) {
  const Index classes = static_cast<Index>(task.classes.size());
  Matrix p(table.rows(), classes);
  const auto take = [&](const Column& column, Index row) {
    // One word among the numbers makes a column of texts: the word is to blame, no number.
    double value = kUndefined;
    if (column.kind == ColumnKind::number) {
      value = column.numbers[static_cast<std::size_t>(row)];
    } else if (parse_number(column.text(row), value) != NumberText::number) {
      value = kUndefined;
    }
    if (!(value >= 0 && value <= 1)) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"{}\": \"{}\" is no probability",
                              table.where(row), column.name, column.text(row)),
                  "scores are numbers from 0 to 1");
    }
    return value;
  };
  const Column* one = task.binary() ? table.find("p") : nullptr;
  if (one == nullptr && task.binary()) one = table.find("score");
  for (Index row = 0; row < table.rows(); ++row) {
    for (Index k = 0; k < classes; ++k) {
      if (one != nullptr) {
        const double positive = take(*one, row);
        p(row, k) = k == 1 ? positive : 1 - positive;
      } else {
        p(row, k) =
            take(table.column("p_" + task.classes[static_cast<std::size_t>(k)]), row);
      }
    }
    const double sum = p.row(row).sum();
    if (std::abs(sum - 1) > 1e-3) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}: the probabilities of the classes sum to {:.6g}",
                              table.where(row), sum),
                  "give one column p_<class> per class, summing to 1");
    }
  }
  return p;
}

PairList list_pairs(const Table& pairs, const Attribute& attribute, Index rows) {
  const Column* name = pairs.find("fmd_attribute");
  const Column& row = pairs.column("fmd_row");
  std::map<std::string, std::int32_t> code;
  for (std::size_t v = 0; v < attribute.values.size(); ++v)
    code[attribute.values[v]] = static_cast<std::int32_t>(v);
  PairList list;
  for (Index i = 0; i < pairs.rows(); ++i) {
    if (name != nullptr && name->text(i) != attribute.name) continue;
    const double number = row.kind == ColumnKind::number
                              ? row.numbers[static_cast<std::size_t>(i)]
                              : kUndefined;
    if (!(number >= 1 && number <= static_cast<double>(rows))) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"fmd_row\": \"{}\" is no row of the scores",
                              pairs.where(i), row.text(i)),
                  "score the file that `fmd pairs` made from the same rows");
    }
    const auto from = code.find(pairs.column("fmd_from").text(i));
    const auto to = code.find(pairs.column("fmd_to").text(i));
    if (from == code.end() || to == code.end()) continue;  // another attribute's pair
    list.at.push_back(i);
    list.unit.push_back(static_cast<Index>(number) - 1);
    list.from.push_back(from->second);
    list.to.push_back(to->second);
  }
  return list;
}

namespace {

// The pairs of one attribute from the file that `fmd pairs` made and another program
// scored.
std::optional<PairScores> read_pair_scores(const Table& pairs, const Matrix& pbar,
                                           const Scored& scored, const Attribute& attribute,
                                           double threshold) {
  PairList list = list_pairs(pairs, attribute, scored.rows());
  if (list.at.empty()) return std::nullopt;
  std::map<Index, float> per_unit;
  for (const Index unit : list.unit) ++per_unit[unit];
  PairScores out;
  out.p.resize(std::ssize(list.at), pbar.cols());
  out.pbar.resize(std::ssize(list.at), pbar.cols());
  for (std::size_t i = 0; i < list.at.size(); ++i) {
    const Index unit = list.unit[i];
    out.p.row(static_cast<Index>(i)) = scored.p.row(unit);
    out.pbar.row(static_cast<Index>(i)) = pbar.row(list.at[i]);
    out.weight.push_back(1.0F / per_unit[unit]);
    if (scored.labelled()) out.y.push_back(scored.y[static_cast<std::size_t>(unit)]);
  }
  out.unit = std::move(list.unit);
  out.from = std::move(list.from);
  out.to = std::move(list.to);
  out.decision = decide(out.p, threshold);
  out.decision_bar = decide(out.pbar, threshold);
  return out;
}

}  // namespace

Scored read_scores(const Table& scores, const Task& task) {
  Scored scored;
  scored.p = read_probabilities(scores, task);
  scored.decision = decide(scored.p, task.threshold);
  scored.favorable = task.favorable_class();
  if (!task.label.empty() && scores.find(task.label) != nullptr)
    scored.y = labels(scores, task);
  return scored;
}

AuditReport audit_files(const Table& scores, const Table* pairs, const Task& task,
                        const AuditOptions& options, const Exec& exec) {
  Scored scored = read_scores(scores, task);
  if (options.weighted) scored.weight = audit_weights(scores, task);
  std::vector<Attribute> read;
  for (const AttributeSpec& spec : task.attributes)
    read.push_back(read_attribute(scores, spec));
  std::vector<AuditedAttribute> attributes;
  Matrix pbar;
  if (pairs != nullptr) pbar = read_probabilities(*pairs, task);
  MatchPlans matches(read.size());
  for (std::size_t a = 0; a < read.size(); ++a) {
    const Attribute& attribute = read[a];
    AuditedAttribute input{.attribute = &attribute,
                           .reads = Reads::unknown,
                           .pairs = std::nullopt,
                           .pairs_kind = "flip",
                           .slope = std::nullopt};
    if (pairs != nullptr)
      input.pairs = read_pair_scores(*pairs, pbar, scored, attribute, task.threshold);
    if (is_match(task.attributes[a])) {
      input.matching.table = &scores;
      input.matching.y = scored.y;
      input.matching.attribute = &attribute;
      input.matching.spec = &task.attributes[a];
      input.matching.min_rows = task.min_group;
      matches[a] = match_plan(input.matching, exec);
      input.match = &*matches[a];
    }
    attributes.push_back(std::move(input));
  }
  AuditReport report = audit_scores(scored, task, attributes, options, exec);
  report.data = scores.source;
  return report;
}

}  // namespace fmd
