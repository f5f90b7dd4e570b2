#include "repair/match_candidates.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/model/linear_head.h"
#include "fmd/unlearn/solve.h"
#include "model/dense_rows.h"
#include "repair/gap_penalties.h"
#include "repair/odds.h"

namespace fmd::internal {
namespace {

// The edit rows as pairs of themselves: solve's fit over pairs is then a fit over rows.
// Each cell of label x value of every repaired attribute has the same total weight.
PairSet balanced_rows(const HeadProblem& problem, const Rows& rows) {
  std::map<std::vector<std::int32_t>, Index> cells;
  std::vector<std::vector<std::int32_t>> of_row;
  PairSet set;
  for (Index i = 0; i < rows.size(); ++i) {
    std::vector<std::int32_t> cell = {rows.label(i)};
    for (std::size_t k = 0; k < problem.repaired.size(); ++k)
      cell.push_back(problem.group(problem.edit, k).code[at(rows.row(i))]);
    ++cells[cell];
    of_row.push_back(std::move(cell));
    set.unit.push_back(rows.row(i));
  }
  set.c = set.cbar = rows;
  for (const auto& cell : of_row)
    set.weight.push_back(static_cast<float>(
        1 / (static_cast<double>(cells.size()) * static_cast<double>(cells[cell]))));
  return set;
}

std::vector<GapPenalty> odds_penalties(const HeadProblem& problem, double gamma) {
  std::vector<GapPenalty> penalties;
  for (std::size_t k = 0; k < problem.repaired.size(); ++k) {
    const LargeGroups groups =
        large_groups(problem.group(problem.edit, k), problem.min_group);
    for (const char* name : {"equal_opportunity_soft", "false_positive_soft"}) {
      GapPenalty penalty;
      penalty.measure = make_measure(
          name, {.favorable = problem.favorable, .groups = groups.count, .sharpen = 1});
      penalty.gamma = gamma / static_cast<double>(problem.repaired.size());
      penalty.group = groups.code;
      penalties.push_back(std::move(penalty));
    }
  }
  return penalties;
}

struct Weights {
  double mu, gamma;
  auto operator<=>(const Weights&) const = default;
};

std::vector<Weights> weights_grid(const RepairOptions& options, const SharedFit& shared) {
  std::vector<Weights> all;
  for (const Candidate& one : shared.wanted) all.push_back({one.mu, one.gamma});
  if (!shared.empty()) return all;
  for (const double mu : {0.001, 0.01, 0.1, 1.0, 10.0})
    for (const double gamma : {0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0})
      if (options.mu < 0 || mu == 0.001)
        all.push_back({options.mu < 0 ? mu : options.mu, gamma});
  const CandidateAt& asked = options.at;
  if (asked.mu && asked.gamma) {
    const Weights one{*asked.mu, *asked.gamma};
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
  std::sort(all.begin(), all.end());
  return all;
}

void require_cells(const HeadProblem& problem) {
  if (problem.favorable < 0) {
    throw Error(ErrorKind::bad_option, "debias: matched pairs need a favourable class",
                "say which answer is good for the person: --favorable VALUE");
  }
  const Rows& rows = problem.edit.rows;
  for (std::size_t k = 0; k < problem.repaired.size(); ++k) {
    const GroupCodes& attribute = problem.group(problem.edit, k);
    const LargeGroups groups = large_groups(attribute, problem.min_group);
    std::vector<Index> count(at(2 * groups.count));
    for (Index i = 0; i < rows.size(); ++i)
      if (const std::int32_t group = groups.code[at(rows.row(i))]; group >= 0)
        ++count[at(2 * group + (rows.label(i) == problem.favorable ? 1 : 0))];
    if (groups.count >= 2 &&
        std::none_of(count.begin(), count.end(), [](Index n) { return n == 0; }))
      continue;
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: {} needs two values with >= {} rows, each with favourable "
                            "and unfavourable labels",
                            problem.edit.source, attribute.name, problem.min_group),
                "give more labelled rows, or lower --min-group");
  }
}

}  // namespace

MatchFit::MatchFit(const HeadProblem& problem, double fit)
    : problem_(problem), fit_(fit), rows_(problem.edit.rows) {
  const LinearHead* head = problem.head->as_linear();
  if (!problem.attribute_features && head != nullptr && head->whole()) {
    const Index n = rows_.X->rows(), cols = rows_.X->cols();
    std::vector<Index> used;
    for (Index i = 0; i < rows_.size(); ++i) used.push_back(rows_.row(i));
    Scratch scratch;
    std::vector<float> values;
    expand(*rows_.X, used, scratch, values);
    mean_ = Vector::Zero(cols);
    deviation_ = Vector::Zero(cols);
    const double count = static_cast<double>(rows_.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      mean_[static_cast<Index>(i) % cols] += static_cast<double>(values[i]) / count;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Index c = static_cast<Index>(i) % cols;
      const double off = static_cast<double>(values[i]) - mean_[c];
      deviation_[c] += off * off / count;
    }
    // A feature that is constant here tells nothing: its weights stay as they are.
    // Rounding of a float32 is no spread.
    for (Index c = 0; c < cols; ++c) {
      const double d = std::sqrt(deviation_[c]);
      deviation_[c] = d > 1e-6 * std::abs(mean_[c]) ? d : 1;
    }
    std::vector<float> standard(at(n * cols), 0);
    for (std::size_t i = 0; i < used.size(); ++i)
      for (Index c = 0; c < cols; ++c)
        standard[at(used[i] * cols + c)] = static_cast<float>(
            (static_cast<double>(values[i * at(cols) + at(c)]) - mean_[c]) / deviation_[c]);
    standard_ = make_dense(std::move(standard), n, cols);
    rows_.X = standard_.get();
  }
  balanced_ = balanced_rows(problem, rows_);
}

Vector MatchFit::scaled(const Vector& theta) const {
  if (standard_ == nullptr) return theta;
  const LinearHead& head = *problem_.head->as_linear();
  const Matrix W = head.W(theta);
  return head.from(W * deviation_.asDiagonal(), head.b(theta) + W * mean_);
}

Vector MatchFit::unscaled(const Vector& theta) const {
  if (standard_ == nullptr) return theta;
  const LinearHead& head = *problem_.head->as_linear();
  const Matrix W = head.W(theta) * deviation_.cwiseInverse().asDiagonal();
  return head.from(W, head.b(theta) - W * mean_);
}

SolveResult MatchFit::solve(double mu, double gamma, const Vector& start,
                            const Exec& exec) const {
  const std::vector<PairSet> pairs = {balanced_};
  SolveResult found = fmd::solve(*problem_.head, scaled(problem_.theta), rows_, pairs,
                                 {.anchor = 0,
                                  .fit = fit_,
                                  .lambda = 0,
                                  .mu = mu,
                                  .gaps = odds_penalties(problem_, gamma)},
                                 exec, start.size() == 0 ? start : scaled(start));
  found.theta = unscaled(found.theta);
  return found;
}

Candidates match_candidates(const HeadProblem& problem, const RepairOptions& options,
                            const SharedFit& shared, const Exec& exec) {
  require_cells(problem);
  const MatchFit fit(problem, options.fit > 0 ? options.fit : 1);
  Candidates candidates;
  candidates.solve = {.converged = true, .solver = "levenberg-marquardt"};
  candidates.hessian_source = "none";
  const std::vector<Weights> all = weights_grid(options, shared);
  Vector start = problem.theta;
  for (const Weights& weights : all) {
    exec.report("repairing", std::ssize(candidates.all), std::ssize(all));
    if (weights.gamma == 0) start = problem.theta;
    const SolveResult solved = fit.solve(weights.mu, weights.gamma, start, exec);
    start = solved.theta;
    Candidate candidate;
    candidate.gamma = weights.gamma;
    candidate.mu = weights.mu;
    candidate.kind = to_string(RepairMethod::solve);
    candidate.theta = solved.theta;
    candidates.all.push_back(std::move(candidate));
    add_solve(solved.summary, candidates.solve);
  }
  candidates.status = candidates.solve.converged ? "converged" : "not converged";
  return candidates;
}

}  // namespace fmd::internal
