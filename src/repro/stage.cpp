#include "repro/stage.h"

#include <chrono>
#include <cmath>
#include <ctime>

#include "core/check.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/passes.h"
#include "fmd/repair/choice.h"
#include "model/dense_rows.h"

namespace fmd::repro {
namespace {

// |share of decision 1 in group 0 - share in group 1|, over all rows or (positive_only)
// over the rows of label 1.
double group_gap(const std::vector<std::int32_t>& decision, const Side& side,
                 bool positive_only) {
  double hits[2] = {0, 0}, rows[2] = {0, 0};
  for (std::size_t i = 0; i < decision.size(); ++i) {
    const std::int32_t g = side.group[i];
    if (g < 0 || g > 1 || (positive_only && side.rows.y[i] != 1)) continue;
    rows[g] += 1;
    if (decision[i] == 1) hits[g] += 1;
  }
  return std::abs(hits[0] / rows[0] - hits[1] / rows[1]);
}

double wall_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double cpu_now() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

}  // namespace

OwnedPairs::OwnedPairs(std::shared_ptr<const Features> factual,
                       std::shared_ptr<const Features> counterpart,
                       std::vector<std::int32_t> label)
    : c(std::move(factual), std::move(label)) {
  const Index rows = c.X->rows(), all = counterpart->rows();
  if (rows == 0 || all % rows != 0) require_size("pairs", "the counterparts", all, rows);
  const Index copies = all / rows;
  std::vector<std::int32_t> y;
  PairSet set;
  for (Index i = 0; i < all; ++i) {
    const Index row = i / copies;
    if (copies > 1) subset.push_back(row);
    y.push_back(c.y[static_cast<std::size_t>(row)]);
    set.unit.push_back(row);
    set.weight.push_back(1.0f / static_cast<float>(copies));
  }
  cbar = OwnedRows(std::move(counterpart), std::move(y));
  set.c = {c.X.get(), c.y, {}, subset};
  set.cbar = cbar.rows();
  sets.push_back(std::move(set));
}

KeptPairs kept(OwnedPairs pairs) {
  auto own = std::make_shared<const OwnedPairs>(std::move(pairs));
  return {own->sets, own};
}

void connect(Stage& stage) {
  HeadProblem& problem = stage.problem;
  problem.head = stage.head.get();
  problem.repaired = {{0, PairKind::flip}};
  problem.edit.rows = stage.edit.pairs.c.rows();
  problem.edit.pairs = stage.edit.pairs.sets;
  problem.holdout.rows = stage.holdout.rows.rows();
  problem.holdout.pairs = stage.holdout.pairs.sets;
  if (stage.train.X != nullptr) problem.train = HeadPart{.rows = stage.train.rows()};
}

Score score(const Head& head, const Vector& theta, const Side& side, const Exec& exec) {
  const Matrix p = all_probabilities(head, side.rows.rows(), theta, exec);
  const std::vector<std::int32_t> decision = decide(p, 0.5);
  Index right = 0;
  for (std::size_t i = 0; i < decision.size(); ++i)
    if (decision[i] == side.rows.y[i]) ++right;
  const MeasureData data{&side.pairs.sets.front(), {}, {}};
  Score found;
  found.accuracy = static_cast<double>(right) / static_cast<double>(decision.size());
  found.bias = evaluate(*make_measure("co"), data, head, theta, false, exec).value;
  if (!side.group.empty()) {
    found.parity = group_gap(decision, side, false);
    found.opportunity = group_gap(decision, side, true);
  }
  return found;
}

Rule rule_of(const Settings& settings) {
  return {settings.number("target_bias"), settings.word("otherwise") == "budget"};
}

std::size_t choose_edit(const Stage& stage, const std::vector<EditCandidate>& candidates,
                        const Rule& rule, const Exec& exec) {
  constexpr double kBudget = 0.01;
  const double start =
      score(*stage.head, stage.problem.theta, stage.holdout, exec).accuracy;
  std::vector<ChoiceFigures> figures;
  RuleStep passing{{}, {Prefer::accuracy}}, within{{}, {Prefer::less_bias}},
      any{{}, {Prefer::accuracy}};
  for (const EditCandidate& candidate : candidates) {
    const Score s = candidate.theta.allFinite()
                        ? score(*stage.head, candidate.theta, stage.holdout, exec)
                        : Score{.accuracy = -1, .bias = 2};
    const bool keeps = s.accuracy >= start - kBudget;
    figures.push_back({s.accuracy, s.bias});
    passing.eligible.push_back(keeps && s.bias <= rule.target_bias);
    within.eligible.push_back(keeps && rule.budget);
    any.eligible.push_back(true);
  }
  const RuleStep steps[] = {passing, within, any};
  return static_cast<std::size_t>(choose(figures, steps));
}

Stopwatch::Stopwatch() : wall_(wall_now()), cpu_(cpu_now()) {}
double Stopwatch::seconds() const { return wall_now() - wall_; }
double Stopwatch::cpu() const { return cpu_now() - cpu_; }

OwnedRows both_sides(const PairSet& pairs) {
  const Index n = pairs.size(), cols = pairs.cbar.X->cols();
  std::vector<float> values;
  std::vector<std::int32_t> y;
  for (const Rows* side : {&pairs.c, &pairs.cbar}) {
    std::vector<Index> numbers;
    for (Index i = 0; i < n; ++i) {
      numbers.push_back(side->row(i));
      y.push_back(side->label(i));
    }
    Scratch scratch;
    std::vector<float> part;
    expand(*side->X, numbers, scratch, part);
    values.insert(values.end(), part.begin(), part.end());
  }
  return {make_dense(std::move(values), 2 * n, cols), std::move(y)};
}

}  // namespace fmd::repro
