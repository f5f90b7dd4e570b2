#include "fmd/pipeline/match_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/data/encoder.h"
#include "fmd/metrics/matched.h"
#include "fmd/model/match.h"
#include "pipeline/match_balance.h"
#include "pipeline/match_space.h"
#include "pipeline/score_files.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// Rows by label and value; -1 where a row is not matched.
struct Cells {
  std::vector<std::int32_t> of_row;
  std::vector<std::vector<Index>> rows;
  Index labels = 1;

  [[nodiscard]] const std::vector<Index>& at_cell(Index label, std::int32_t value) const {
    return rows[at(value * labels + label)];
  }
};

std::vector<std::int32_t> large_values(const Attribute& attribute, Index min_rows) {
  std::vector<std::int32_t> values;
  const std::vector<Index> counts = attribute.counts();
  for (std::size_t v = 0; v < counts.size(); ++v)
    if (counts[v] >= std::max<Index>(min_rows, 2))
      values.push_back(static_cast<std::int32_t>(v));
  return values;
}

Cells make_cells(const MatchInput& input, const std::vector<std::int32_t>& values) {
  Cells cells;
  for (const std::int32_t y : input.y) cells.labels = std::max<Index>(cells.labels, y + 1);
  cells.rows.resize(input.attribute->values.size() * at(cells.labels));
  for (Index row = 0; row < std::ssize(input.attribute->code); ++row) {
    const std::int32_t value = input.attribute->code[at(row)];
    const std::int32_t label = input.y.empty() ? 0 : input.y[at(row)];
    const bool in =
        label >= 0 && std::find(values.begin(), values.end(), value) != values.end();
    const auto cell = static_cast<std::int32_t>(value * cells.labels + label);
    cells.of_row.push_back(in ? cell : -1);
    if (in) cells.rows[at(cell)].push_back(row);
  }
  return cells;
}

// `count` of the rows, drawn at random where there are more; ascending.
std::vector<Index> draw(const std::vector<Index>& rows, Index count, std::uint64_t seed,
                        const char* purpose, Index number) {
  if (count >= std::ssize(rows)) return rows;
  Rng rng(seed, purpose, static_cast<std::uint64_t>(number));
  std::vector<Index> order = permutation(std::ssize(rows), rng);
  order.resize(at(count));
  std::vector<Index> drawn;
  for (const Index i : order) drawn.push_back(rows[at(i)]);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

// One pair that was made, or why it was not.
struct Made {
  Index row, partner, own;
  std::int32_t from, to;
  double distance;
  MatchOutcome outcome;
};

class Matcher {
 public:
  Matcher(const MatchInput& input, const Cells& cells, const MatchSpace& space,
          const Exec& exec)
      : input_(input), cells_(cells), space_(space), exec_(exec) {}

  // Mean and standard deviation of every row's nearest distance, before any limit.
  [[nodiscard]] double resolve(const Caliper& caliper,
                               const std::vector<std::int32_t>& values) const {
    if (!caliper.deviations) return caliper.value;
    double n = 0, sum = 0, squares = 0;
    each_cell(values, [&](Index label, std::int32_t u, std::int32_t v) {
      const std::vector<Index>& from = cells_.at_cell(label, u);
      const std::vector<Index> to = pool(label, u, v);
      if (from.empty() || to.empty()) return;
      const Neighbours found =
          nearest(rows(from), rows(to),
                  {.distance = space_.distance, .scale = space_.scale}, exec_);
      for (const double distance : found.distance) {
        n += 1;
        sum += distance;
        squares += distance * distance;
      }
    });
    if (n == 0) return std::numeric_limits<double>::infinity();
    const double mean = sum / n;
    return mean + caliper.value * std::sqrt(std::max(0.0, squares / n - mean * mean));
  }

  [[nodiscard]] std::vector<Made> run(const std::vector<std::int32_t>& values,
                                      double caliper) const {
    std::vector<Made> made;
    each_cell(values, [&](Index label, std::int32_t u, std::int32_t v) {
      const std::vector<Index>& from = cells_.at_cell(label, u);
      if (from.empty()) return;
      const Matches across = match(from, pool(label, u, v), false, caliper);
      const Matches within = match(from, own_pool(label, u, v), true, caliper);
      for (std::size_t i = 0; i < from.size(); ++i)
        made.push_back({from[i], across.partner[i], within.partner[i], u, v,
                        across.distance[i], across.outcome[i]});
    });
    std::stable_sort(made.begin(), made.end(), [](const Made& a, const Made& b) {
      return a.row != b.row ? a.row < b.row : a.to < b.to;
    });
    return made;
  }

 private:
  template <typename Body>
  void each_cell(const std::vector<std::int32_t>& values, const Body& body) const {
    for (Index label = 0; label < cells_.labels; ++label)
      for (const std::int32_t u : values)
        for (const std::int32_t v : values)
          if (u != v) body(label, u, v);
  }

  // The same number of rows on either side: rows of v, and rows of u without the row
  // itself.
  [[nodiscard]] Index pool_size(Index label, std::int32_t u, std::int32_t v) const {
    return std::min(std::ssize(cells_.at_cell(label, v)),
                    std::max<Index>(1, std::ssize(cells_.at_cell(label, u)) - 1));
  }
  [[nodiscard]] Index number(Index label, std::int32_t u, std::int32_t v) const {
    const Index values = std::ssize(input_.attribute->values);
    return (label * values + u) * values + v;
  }
  [[nodiscard]] std::vector<Index> pool(Index label, std::int32_t u, std::int32_t v) const {
    return draw(cells_.at_cell(label, v), pool_size(label, u, v), exec_.seed, "match pool",
                number(label, u, v));
  }
  [[nodiscard]] std::vector<Index> own_pool(Index label, std::int32_t u,
                                            std::int32_t v) const {
    const std::vector<Index>& all = cells_.at_cell(label, u);
    const Index size = pool_size(label, u, v);
    // No row is its own partner: from all rows each row has one fewer to choose from.
    return draw(all, size + 1 >= std::ssize(all) ? std::ssize(all) : size, exec_.seed,
                "match floor", number(label, u, v));
  }

  [[nodiscard]] Rows rows(const std::vector<Index>& subset) const {
    return {.X = space_.X.get(), .y = {}, .weight = {}, .subset = subset};
  }

  [[nodiscard]] Matches match(const std::vector<Index>& from, const std::vector<Index>& to,
                              bool skip_self, double caliper) const {
    if (to.empty()) {  // an empty subset would stand for all rows
      Matches none;
      none.partner.assign(from.size(), -1);
      none.distance.assign(from.size(), std::numeric_limits<double>::infinity());
      none.outcome.assign(from.size(), MatchOutcome::no_candidate);
      return none;
    }
    return match_rows(rows(from), rows(to),
                      {.distance = space_.distance,
                       .scale = space_.scale,
                       .skip_self = skip_self,
                       .reuse = input_.spec->reuse,
                       .caliper = caliper},
                      exec_);
  }

  const MatchInput& input_;
  const Cells& cells_;
  const MatchSpace& space_;
  const Exec& exec_;
};

void take(const std::vector<Made>& made, const MatchSpace& space, MatchPlan& plan) {
  std::map<MatchOutcome, Index> lost;
  std::map<Index, float> per_row;
  for (const Made& m : made) {
    if (m.outcome != MatchOutcome::matched) {
      ++lost[m.outcome];
      continue;
    }
    plan.row.push_back(m.row);
    plan.partner.push_back(m.partner);
    plan.own.push_back(m.own);
    plan.from.push_back(m.from);
    plan.to.push_back(m.to);
    plan.distance.push_back(m.distance);
    plan.quality.push_back(space.quality(m.distance));
    ++per_row[m.row];
  }
  for (const Index row : plan.row) plan.weight.push_back(1.0F / per_row[row]);
  const std::pair<MatchOutcome, const char*> kWords[] = {
      {MatchOutcome::no_candidate, "no row with that label and value"},
      {MatchOutcome::too_far, "further than the caliper"},
      {MatchOutcome::used_up, "near rows serve others already"}};
  for (const auto& [outcome, words] : kWords)
    if (lost[outcome] > 0) plan.unmatched.emplace_back(words, lost[outcome]);
}

// Partners differ in the attribute: features that it went into cannot tell who is near.
// Above frozen layers nobody knows which those are.
void require_columns(const Model& model, const AttributeSpec& spec,
                     const Attribute& attribute) {
  if (head_on_columns(model) || match_by(spec) == "overlap" ||
      !model.backbone->inputs().reads(attribute))
    return;
  throw Error(
      ErrorKind::unsupported,
      fmt::format("{}: matched pairs cannot be used on a network's upper layers",
                  spec.name),
      "use flips or given pairs, match by overlap of columns, or change all layers");
}

}  // namespace

MatchPlan match_plan(const MatchInput& input, const Exec& exec) {
  MatchPlan plan;
  plan.by = match_by(*input.spec);
  plan.reuse = input.spec->reuse;
  plan.values = large_values(*input.attribute, input.min_rows);
  if (plan.values.size() < 2) {
    plan.reason = fmt::format("fewer than two values have >= {} rows", input.min_rows);
    return plan;
  }
  const Cells cells = make_cells(input, plan.values);
  plan.rows = std::count_if(cells.of_row.begin(), cells.of_row.end(),
                            [](std::int32_t cell) { return cell >= 0; });
  if (plan.rows == 0) {
    plan.reason = "no row has a label";
    return plan;
  }
  const MatchSpace space = match_space(input, cells.of_row, exec);
  plan.columns = space.columns;
  const Matcher matcher(input, cells, space, exec);
  plan.caliper = matcher.resolve(parse_caliper(input.spec->caliper), plan.values);
  take(matcher.run(plan.values, plan.caliper), space, plan);
  if (plan.size() == 0) plan.reason = "no row has a partner";
  return plan;
}

MatchPlan match_plan(const Table& table, const Task& task, const Attribute& attribute,
                     const AttributeSpec& spec, const Exec& exec) {
  MatchInput input;
  std::vector<std::string> out = attribute.columns;
  out.insert(out.end(), task.ignore.begin(), task.ignore.end());
  for (const std::string& name : {task.label, task.id, task.weight}) out.push_back(name);
  for (const Column& column : table.columns)
    if (std::find(out.begin(), out.end(), column.name) == out.end())
      input.columns.push_back(column.name);
  std::vector<std::int32_t> y;
  if (!task.label.empty()) y = labels(table, task);
  std::unique_ptr<Features> X;
  if (match_by(spec) != "overlap")
    X = make_sparse(Encoder(table, input.columns, {}, Unseen::error).encode(table, {}));
  input.table = &table;
  input.y = y;
  input.attribute = &attribute;
  input.spec = &spec;
  input.X = X.get();
  input.min_rows = task.min_group;
  return match_plan(input, exec);
}

namespace {

// What rows of a model are compared by: the columns that it reads. Of images nobody has
// named anything: there it is all that the table says about them.
std::vector<std::string> compared_columns(const Model& model, const Table& table,
                                          const Task& task, const Attribute& attribute) {
  const InputSchema& read = model.backbone->inputs();
  std::vector<std::string> out = attribute.columns, names = read.names();
  if (!read.files.empty()) {
    names.clear();
    for (const Column& column : table.columns) names.push_back(column.name);
    out.insert(out.end(), read.files.begin(), read.files.end());
    out.insert(out.end(), task.ignore.begin(), task.ignore.end());
    for (const std::string& name : {task.label, task.id, task.weight}) out.push_back(name);
  }
  std::erase_if(names, [&](const std::string& name) {
    return std::find(out.begin(), out.end(), name) != out.end();
  });
  return names;
}

}  // namespace

MatchInput match_input(const Model& model, const Study& study, const Task& task,
                       std::size_t attribute) {
  MatchInput input;
  input.table = &study.table;
  input.y = study.y;
  input.attribute = &study.attributes[attribute];
  input.spec = &task.attributes[attribute];
  input.min_rows = task.min_group;
  if (scores_of(model) != nullptr) return input;  // it has no features
  require_columns(model, task.attributes[attribute], *input.attribute);
  input.X = study.X.get();
  if (head_on_columns(model))
    input.own_features = model.backbone->columns()->of(*input.attribute);
  input.columns = compared_columns(model, *input.table, task, *input.attribute);
  return input;
}

MatchPlans make_matches(const Model& model, const Study& study, const Task& task,
                        const Exec& exec) {
  MatchPlans plans(study.attributes.size());
  for (std::size_t a = 0; a < plans.size(); ++a)
    if (is_match(task.attributes[a]))
      plans[a] = match_plan(match_input(model, study, task, a), exec);
  return plans;
}

namespace {

// |p_y - pbar_y| for the label y of both rows. Without labels it is half the sum over the
// classes, which is the same for two classes.
double gap(const Scored& scored, std::span<const std::int32_t> y, Index row, Index other) {
  if (!y.empty() && scored.p.cols() > 2) {
    const Index label = y[at(row)];
    return std::abs(scored.p(row, label) - scored.p(other, label));
  }
  return (scored.p.row(row) - scored.p.row(other)).cwiseAbs().sum() / 2;
}

void count_partners(const MatchPlan& plan, MatchReport& report) {
  std::map<std::pair<std::int32_t, Index>, Index> used;  // by the value that was left
  std::map<Index, Index> rows, partners;
  double weight = 0, quality = 0, distance = 0;
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    ++rows[plan.row[i]];
    ++partners[plan.partner[i]];
    report.most_used = std::max(report.most_used, ++used[{plan.from[i], plan.partner[i]}]);
    const double w = static_cast<double>(plan.weight[i]);
    weight += w;
    quality += w * plan.quality[i];
    distance += w * plan.distance[i];
  }
  report.matched = std::ssize(rows);
  report.partners = std::ssize(partners);
  if (weight == 0) return;
  report.quality = quality / weight;
  report.distance = distance / weight;
}

// Pairs with a partner on both sides; a row's weights sum to 1 over these.
void measure(const MatchPlan& plan, const MatchInput& input, const Scored& scored,
             double confidence, MatchReport& report) {
  MatchedGaps gaps;
  std::vector<double> across, within;
  std::map<Index, float> per_row;
  double differ = 0, differ_floor = 0;
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    if (plan.own[i] < 0) continue;
    gaps.row.push_back(plan.row[i]);
    gaps.partner.push_back(plan.partner[i]);
    gaps.own.push_back(plan.own[i]);
    across.push_back(gap(scored, input.y, plan.row[i], plan.partner[i]));
    within.push_back(gap(scored, input.y, plan.row[i], plan.own[i]));
    ++per_row[plan.row[i]];
  }
  if (gaps.row.empty()) {
    report.reason = "no row has a partner on both sides";
    return;
  }
  for (std::size_t i = 0; i < gaps.row.size(); ++i) {
    gaps.weight.push_back(1.0F / per_row[gaps.row[i]]);
    const double w = static_cast<double>(gaps.weight[i]);
    const std::int32_t decided = scored.decision[at(gaps.row[i])];
    differ += w * (decided != scored.decision[at(gaps.partner[i])] ? 1 : 0);
    differ_floor += w * (decided != scored.decision[at(gaps.own[i])] ? 1 : 0);
  }
  gaps.gap = Eigen::Map<const Vector>(across.data(), std::ssize(across));
  gaps.floor = Eigen::Map<const Vector>(within.data(), std::ssize(within));
  const MatchedResult result = matched_result(gaps, confidence);
  report.compared = result.rows;
  report.co = result.co;
  report.floor = result.floor;
  report.excess = result.excess;
  report.flip_rate = differ / static_cast<double>(result.rows);
  report.flip_rate_floor = differ_floor / static_cast<double>(result.rows);
}

}  // namespace

MatchReport match_report(const MatchPlan& plan, const MatchInput& input,
                         const Scored& scored, double confidence) {
  MatchReport report;
  report.by = plan.by;
  report.columns = plan.columns;
  report.same_label = !input.y.empty();
  report.reuse = plan.reuse;
  report.caliper = plan.caliper;
  for (const std::int32_t value : plan.values)
    report.values.push_back(input.attribute->values[at(value)]);
  report.rows = plan.rows;
  report.pairs = plan.size();
  report.unmatched = plan.unmatched;
  report.reason = plan.reason;
  if (plan.size() == 0) return report;
  count_partners(plan, report);
  measure(plan, input, scored, confidence, report);
  report.balance = balance(plan, input);
  return report;
}

Table match_table(const MatchPlan& plan, const Attribute& attribute) {
  Table table;
  table.source = "matched pairs";
  Column row{.name = "fmd_row"}, partner{.name = "fmd_partner"};
  Column from{.name = "fmd_from", .kind = ColumnKind::category, .levels = attribute.values};
  Column to{.name = "fmd_to", .kind = ColumnKind::category, .levels = attribute.values};
  Column quality{.name = "fmd_quality"};
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    row.numbers.push_back(static_cast<double>(plan.row[i] + 1));
    partner.numbers.push_back(static_cast<double>(plan.partner[i] + 1));
    quality.numbers.push_back(plan.quality[i]);
  }
  from.codes = plan.from;
  to.codes = plan.to;
  table.columns = {std::move(row), std::move(partner), std::move(from), std::move(to),
                   std::move(quality)};
  return table;
}

}  // namespace fmd
