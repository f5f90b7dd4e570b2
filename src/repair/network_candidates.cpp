#include "repair/network_candidates.h"

#include <algorithm>
#include <cmath>

#include "fmd/repair/controls.h"
#include "repair/gap_penalties.h"

namespace fmd::internal {
namespace {

// Both terms that lambda weighs are of second order in the change of a score, so one grid
// serves every model: from hardly any pull up to one that leaves almost no flip gap.
constexpr double kLeastLambda = 0.03, kMostLambda = 1e5;
// Each solve starts from the result for the neighbouring lambda, so a few steps are enough.
constexpr int kSteps = 12;
constexpr double kMinFall = 1e-3;
constexpr Index kAdamSteps = 400, kAdamBatch = 256, kLeastEpochs = 4;

std::vector<double> lambda_grid(const RepairOptions& options, const SharedFit& shared) {
  std::vector<double> grid;
  for (const Candidate& one : shared.wanted) grid.push_back(one.lambda);
  if (!shared.empty()) return grid;
  for (Index i = 0; i < options.points; ++i)
    grid.push_back(kLeastLambda *
                   std::pow(kMostLambda / kLeastLambda,
                            static_cast<double>(i) / static_cast<double>(std::max<Index>(
                                                         1, options.points - 1))));
  const std::optional<double>& at = options.at.lambda;
  if (at && std::find(grid.begin(), grid.end(), *at) == grid.end()) grid.push_back(*at);
  std::sort(grid.begin(), grid.end());
  return grid;
}

// Adam, unless a gap is asked for: a minibatch gives no estimate of a gap. 30 lambdas on
// two layers of an ACSIncome network (4,800 pairs) took 29 CPU seconds and left a flip
// gap of .005, by Levenberg-Marquardt 211 and .011, audits included. On all layers it was
// 56 against 313, both with gaps below 1e-6. That is one run of each. In equal time
// Levenberg-Marquardt mostly reaches the lower J: optimizer_bench, docs/benchmarks.md.
bool by_adam(const RepairOptions& options) {
  return options.optimizer == NetworkOptimizer::adam ||
         (options.optimizer == NetworkOptimizer::automatic && options.gaps.empty());
}

// Where the path stood, before it came to lambda, in an earlier fit without the same fold.
// Null: nowhere, or another lambda of this fit is nearer.
const Vector* next_fitted(const SharedFit& shared, double lambda, bool from_above) {
  const Vector* near = nullptr;
  double best = 0;
  const auto nearer = [&](double other) {
    return from_above ? other > lambda && (near == nullptr || other < best)
                      : other < lambda && (near == nullptr || other > best);
  };
  for (const auto& [other, theta] : shared.fitted)
    if (nearer(other)) {
      near = theta;
      best = other;
    }
  for (const Candidate& one : shared.wanted)
    if (near != nullptr && nearer(one.lambda)) return nullptr;
  return near;
}

}  // namespace

SolveAdamOptions adam_options(std::span<const PairSet> sets) {
  Index pairs = 0;
  for (const PairSet& set : sets) pairs += set.size();
  const Index steps = std::max<Index>(1, (pairs + kAdamBatch - 1) / kAdamBatch);
  const auto epochs =
      static_cast<int>(std::clamp<Index>(kAdamSteps / steps, kLeastEpochs, 200));
  return {.epochs = epochs, .batch = kAdamBatch, .learning_rate = 1e-3};
}

Candidates network_candidates(const HeadProblem& problem, const RepairOptions& options,
                              const SharedFit& shared, const Exec& exec) {
  SolveOptions how = solve_options(problem, options);
  how.max_iterations = kSteps;
  how.min_fall = kMinFall;
  const std::vector<PairSet>& sets = problem.edit.pairs;
  SolveAdamOptions adam = adam_options(sets);
  // Each solve goes on from its neighbour: a part of very many pairs is enough.
  adam.max_steps = kAdamSteps / kLeastEpochs;
  const bool minibatches = by_adam(options);
  Candidates candidates;
  InverseSummary& s = candidates.solve;
  s.converged = true;
  s.solver = minibatches ? "adam" : "levenberg-marquardt";
  std::vector<double> grid = lambda_grid(options, shared);
  // Where the head reads the columns that are flipped, the far end of the path is known:
  // with the columns averaged no flip changes anything, on any row. Continuation from there
  // keeps what holds for every row. Paths that began at theta0 were tried on all layers of
  // an Adult network (400 pairs). They left a flip gap of .006 to .008 on other rows,
  // presumably because weights can hide the flips of the edit rows alone.
  const bool from_above =
      problem.attribute_features.has_value() && problem.all_of_kind(PairKind::flip);
  Vector start = from_above ? column_averaged(problem, exec) : problem.theta;
  if (from_above) std::reverse(grid.begin(), grid.end());
  for (const double lambda : grid) {
    if (const Vector* near = next_fitted(shared, lambda, from_above)) start = *near;
    exec.report("repairing", std::ssize(candidates.all), std::ssize(grid));
    how.lambda = lambda;
    const SolveResult solved =
        minibatches ? solve_adam(*problem.head, problem.theta, problem.edit.rows, sets, how,
                                 adam, problem.redraw, exec, start)
                    : solve(*problem.head, problem.theta, problem.edit.rows, sets, how,
                            exec, start);
    start = solved.theta;
    Candidate candidate;
    candidate.lambda = lambda;
    candidate.kind = to_string(RepairMethod::solve);
    candidate.theta = solved.theta;
    candidates.all.push_back(std::move(candidate));
    add_solve(solved.summary, s);
  }
  if (from_above) std::reverse(candidates.all.begin(), candidates.all.end());
  candidates.hessian_source = "none";
  candidates.status = s.converged ? "converged" : "stopped";
  return candidates;
}

}  // namespace fmd::internal
