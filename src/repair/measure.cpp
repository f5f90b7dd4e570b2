#include "repair/measure.h"

#include <utility>

#include "core/index.h"
#include "metrics/scores/head_scores.h"
#include "model/many_thetas.h"
#include "repair/group_targets.h"
#include "repair/odds.h"
#include "repair/paired_loss.h"

namespace fmd::internal {
namespace {

Interval mean_interval(const Vector& column, const Matrix& sums, Index at,
                       double confidence) {
  const double n = static_cast<double>(column.size());
  std::vector<double> replicates(static_cast<std::size_t>(sums.rows()));
  for (Index r = 0; r < sums.rows(); ++r)
    replicates[static_cast<std::size_t>(r)] = sums(r, at) / n;
  return percentile(column.mean(), std::move(replicates), confidence);
}

// Value of each candidate's column, and its paired change against the original's. One
// bootstrap serves all candidates, so that they are compared on the same draws.
CandidateIntervals bootstrap_columns(const Vector& before, const std::vector<Vector>& after,
                                     const IntervalOptions& options, const Exec& exec) {
  const Index count = static_cast<Index>(after.size());
  Matrix statistics(before.size(), 2 * count);
  for (Index k = 0; k < count; ++k) {
    statistics.col(2 * k) = after[static_cast<std::size_t>(k)];
    statistics.col(2 * k + 1) = after[static_cast<std::size_t>(k)] - before;
  }
  const Matrix sums = bootstrap_sums(statistics, options.replicates, exec);
  CandidateIntervals out;
  for (Index k = 0; k < count; ++k) {
    out.value.push_back(
        mean_interval(statistics.col(2 * k), sums, 2 * k, options.confidence));
    out.change.push_back(
        mean_interval(statistics.col(2 * k + 1), sums, 2 * k + 1, options.confidence));
  }
  return out;
}

// Flips of more than two values: the mean hides the worst pair, as in limits of an audit.
bool has_cells(const HeadProblem& problem, std::size_t k, const std::string& measure) {
  return (measure == "co" || measure == "co_worst") &&
         problem.repaired[k].kind == PairKind::flip &&
         problem.group(problem.edit, k).values > 2;
}

std::vector<CellGaps> cells_of(const PairScores& scores, Index values) {
  std::vector<CellGaps> cells(at(values * values));
  for (Index i = 0; i < scores.p.rows(); ++i) {
    const std::int32_t y = scores.y.empty() ? -1 : scores.y[at(i)];
    if (y < 0) continue;
    const double gap = std::abs(scores.p(i, y) - scores.pbar(i, y));
    CellGaps& cell = cells[at(scores.from[at(i)] * values + scores.to[at(i)])];
    cell.pairs += 1;
    cell.sum += gap;
    cell.square += gap * gap;
  }
  return cells;
}

// The worst pair of values with enough rows. The intervals of all pairs hold together.
// Undefined: there is no such pair.
Interval worst_cell(const std::vector<CellGaps>& cells, Index values, Index min_rows,
                    double confidence) {
  std::vector<bool> large(at(values), false);
  for (std::size_t c = 0; c < cells.size(); ++c)
    if (cells[c].pairs >= std::max(2.0, static_cast<double>(min_rows)))
      large[c / at(values)] = true;
  std::vector<const CellGaps*> compared;
  for (std::size_t c = 0; c < cells.size(); ++c)
    if (cells[c].pairs > 1 && large[c / at(values)] && large[c % at(values)])
      compared.push_back(&cells[c]);
  if (compared.empty()) return {};
  const double z = normal_quantile(adjusted_confidence(confidence, std::ssize(compared)));
  Interval worst{0, 0, 0, IntervalKind::normal};
  for (const CellGaps* cell : compared) {
    const double mean = cell->sum / cell->pairs;
    const double variance =
        std::max(0.0, cell->square - cell->pairs * mean * mean) / (cell->pairs - 1);
    const double half = z * std::sqrt(variance / cell->pairs);
    worst.value = std::max(worst.value, mean);
    worst.low = std::max(worst.low, mean - half);
    worst.high = std::max(worst.high, std::min(1.0, mean + half));
  }
  return worst;
}

Verdict judge_target(const Candidate& candidate, const ChoiceAnswers& answers,
                     const HeadProblem& problem, const RepairOptions& options,
                     double confidence) {
  const Limit& target = *options.target;
  Verdict verdict = Verdict::pass;
  for (std::size_t k = 0; k < problem.repaired.size(); ++k) {
    const GroupCodes& group = problem.group(problem.holdout, k);
    if (!target.attribute.empty() && target.attribute != group.name) continue;
    const Verdict one = !options.target_on_mean && has_cells(problem, k, target.measure)
                            ? judge(worst_cell(answers.cells[k], group.values,
                                               problem.min_group, confidence),
                                    target.value)
                            : judge(candidate.bias[k], target.value);
    if (one == Verdict::fail) verdict = Verdict::fail;
    if (one == Verdict::unclear && verdict == Verdict::pass) verdict = Verdict::unclear;
  }
  return verdict;
}

// Places of an answer of some rows among those of all rows.
class Places {
 public:
  explicit Places(const HeadPart& all) : row_(at(all.rows.X->rows()), -1) {
    for (Index i = 0; i < all.rows.size(); ++i) row_[at(all.rows.row(i))] = i;
    for (const PairSet& set : all.pairs) {
      units_.push_back(0);
      for (Index i = 0; i < set.size(); ++i)
        if (i == 0 || set.unit[at(i)] != set.unit[at(i - 1)]) ++units_.back();
    }
  }
  [[nodiscard]] Index row(Index number) const { return row_[at(number)]; }
  [[nodiscard]] Index units(std::size_t attribute) const { return units_[attribute]; }

 private:
  std::vector<Index> row_, units_;
};

void add_cells(const std::vector<CellGaps>& more, std::vector<CellGaps>& cells) {
  cells.resize(more.size());
  for (std::size_t c = 0; c < more.size(); ++c) {
    cells[c].pairs += more[c].pairs;
    cells[c].sum += more[c].sum;
    cells[c].square += more[c].square;
  }
}

GapLabels labels_of(const std::string& measure) {
  if (measure == "demographic_parity") return GapLabels::together;
  return measure == "equal_opportunity" ? GapLabels::favorable : GapLabels::both;
}

double loss_at_risk(const Vector& before, const Vector& after, double risk) {
  Index lost = 0, gained = 0;
  for (Index i = 0; i < before.size(); ++i) {
    lost += before[i] > after[i] ? 1 : 0;
    gained += before[i] < after[i] ? 1 : 0;
  }
  return most_loss(lost, gained, before.size(), risk);
}

}  // namespace

ChoiceAnswers answers(const HeadProblem& problem, const Vector& theta,
                      const std::string& name, const Exec& exec) {
  const Vector* const one = &theta;
  return std::move(answers_of_each(problem, {&one, 1}, name, exec)[0]);
}

std::vector<ChoiceAnswers> answers_of_each(const HeadProblem& problem,
                                           std::span<const Vector* const> thetas,
                                           const std::string& name, const Exec& exec) {
  const HeadPart& part = problem.holdout;
  const Head& head = *problem.head;
  const bool groups = is_group_gap(name), odds = name == kOddsMeasure;
  std::vector<ChoiceAnswers> all(thetas.size());
  std::vector<Vector> yes, favorable;
  std::vector<Matrix> p = probabilities_of_each(head, part.rows, thetas, exec);
  for (std::size_t t = 0; t < all.size(); ++t) {
    const Scored scored =
        scored_rows(std::move(p[t]), part.rows, problem.threshold, problem.favorable);
    ChoiceAnswers& out = all[t];
    out.correct.resize(scored.rows());
    for (Index i = 0; i < scored.rows(); ++i)
      out.correct[i] = scored.decision[at(i)] == scored.y[at(i)] ? 1 : 0;
    out.log_loss = log_loss(scored);
    yes.emplace_back(groups ? scored.rows() : 0);
    for (Index i = 0; i < yes[t].size(); ++i)
      yes[t][i] = scored.decision[at(i)] == scored.favorable ? 1 : 0;
    favorable.emplace_back();
    if (odds) favorable[t] = scored.p.col(scored.favorable);
    out.flips = Vector::Zero(groups ? std::ssize(part.pairs) : 0);
  }
  for (std::size_t k = 0; k < part.pairs.size(); ++k) {
    if (odds) {
      for (std::size_t t = 0; t < all.size(); ++t) all[t].gaps.push_back(favorable[t]);
      continue;
    }
    const auto add = [&](std::size_t t, const PairScores& flips) {
      ChoiceAnswers& out = all[t];
      const Vector gaps = unit_gaps(flips, groups ? "co" : name);
      out.cells.emplace_back();
      if (has_cells(problem, k, name))
        out.cells.back() = cells_of(flips, problem.group(part, k).values);
      if (groups) out.flips[static_cast<Index>(k)] = gaps.mean();
      out.gaps.push_back(groups ? yes[t] : gaps);
    };
    score_pairs_of_each(head, thetas, part.pairs[k], problem.threshold, exec, add);
  }
  return all;
}

namespace {

// Puts the answers to the rows of folds, thetas[k] on fold k, in the places of all rows.
class FoldAnswers {
 public:
  FoldAnswers(const HeadProblem& problem, const std::string& name, std::size_t candidates)
      : places_(problem.edit), by_row_(name == kOddsMeasure || is_group_gap(name)) {
    ChoiceAnswers none;
    none.correct.resize(problem.edit.rows.size());
    none.log_loss = 0;
    for (std::size_t a = 0; a < problem.edit.pairs.size(); ++a)
      none.gaps.emplace_back(by_row_ ? none.correct.size() : places_.units(a));
    none.flips = Vector::Zero(is_group_gap(name) ? std::ssize(none.gaps) : 0);
    all_.assign(candidates, none);
  }

  void add(const FoldProblem& of, const std::vector<ChoiceAnswers>& answered) {
    const SomeRows& fold = of.fold;
    for (std::size_t c = 0; c < all_.size(); ++c) {
      const ChoiceAnswers& one = answered[c];
      ChoiceAnswers& all = all_[c];
      for (Index i = 0; i < one.correct.size(); ++i)
        all.correct[places_.row(fold.rows[at(i)])] = one.correct[i];
      for (std::size_t a = 0; a < one.gaps.size(); ++a)
        for (Index i = 0; i < one.gaps[a].size(); ++i)
          all.gaps[a][by_row_ ? places_.row(fold.rows[at(i)]) : fold.unit_place[a][at(i)]] =
              one.gaps[a][i];
      const double share =
          static_cast<double>(one.correct.size()) / static_cast<double>(all.correct.size());
      all.log_loss += share * one.log_loss;
      if (all.flips.size() > 0) all.flips += share * one.flips;
      all.cells.resize(one.cells.size());
      for (std::size_t a = 0; a < one.cells.size(); ++a)
        add_cells(one.cells[a], all.cells[a]);
    }
  }

  [[nodiscard]] std::vector<ChoiceAnswers> take() { return std::move(all_); }

 private:
  Places places_;
  bool by_row_;
  std::vector<ChoiceAnswers> all_;
};

}  // namespace

std::vector<ChoiceAnswers> answers(const HeadProblem& problem, const CrossFit& fit,
                                   std::span<const std::size_t> candidates,
                                   const std::string& name, const Exec& exec) {
  FoldAnswers all(problem, name, candidates.size());
  for (std::size_t k = 0; k < fit.folds(); ++k) {
    std::vector<const Vector*> thetas;
    for (const std::size_t i : candidates) thetas.push_back(&fit.theta(k, i));
    all.add(fit.fold(k), answers_of_each(fit.fold(k).problem, thetas, name, exec));
  }
  return all.take();
}

ChoiceAnswers answers(const HeadProblem& problem, std::span<const FoldProblem* const> folds,
                      std::span<const Vector> theta, const std::string& name,
                      const Exec& exec) {
  FoldAnswers all(problem, name, 1);
  for (std::size_t k = 0; k < folds.size(); ++k)
    all.add(*folds[k], {answers(folds[k]->problem, theta[k], name, exec)});
  return std::move(all.take()[0]);
}

void add_figures(const HeadProblem& problem, const RepairOptions& options,
                 const IntervalOptions& intervals, const ChoiceAnswers& before,
                 const std::vector<ChoiceAnswers>& after, const Exec& exec,
                 std::vector<Candidate>& candidates) {
  const std::string name = chosen_measure(options, repairs_matched(problem, options));
  const bool groups = name == kOddsMeasure || is_group_gap(name);
  std::vector<Vector> columns;
  for (const ChoiceAnswers& one : after) columns.push_back(one.correct);
  const CandidateIntervals accuracy =
      bootstrap_columns(before.correct, columns, intervals, exec);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    candidates[k].accuracy = accuracy.value[k];
    candidates[k].accuracy_change = accuracy.change[k];
    candidates[k].most_loss = loss_at_risk(before.correct, columns[k], options.risk);
    candidates[k].log_loss = after[k].log_loss;
    candidates[k].lowers_bias = true;
    candidates[k].keeps_rules =
        problem.keeps_rules == nullptr || problem.keeps_rules(candidates[k].theta);
    candidates[k].keeps_flips = options.may_use_attribute || after[k].flips.size() == 0 ||
                                (after[k].flips.array() <= before.flips.array()).all();
  }
  for (std::size_t a = 0; a < problem.repaired.size(); ++a) {
    columns.clear();
    for (const ChoiceAnswers& one : after) columns.push_back(one.gaps[a]);
    const CandidateIntervals bias =
        groups ? odds_intervals(problem, a, before.gaps[a], columns, labels_of(name),
                                intervals, exec)
               : bootstrap_columns(before.gaps[a], columns, intervals, exec);
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      candidates[k].bias.push_back(bias.value[k]);
      candidates[k].bias_change.push_back(bias.change[k]);
      if (!(bias.change[k].high < 0)) candidates[k].lowers_bias = false;
    }
  }
  if (!options.target) return;
  for (std::size_t k = 0; k < candidates.size(); ++k)
    candidates[k].target =
        judge_target(candidates[k], after[k], problem, options, intervals.confidence);
}

}  // namespace fmd::internal
