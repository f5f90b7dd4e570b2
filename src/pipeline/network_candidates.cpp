#include "pipeline/network_candidates.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/unlearn/simple.h"
#include "fmd/unlearn/solve_adam.h"
#include "pipeline/study_parts.h"

namespace fmd::internal {
namespace {

// Both terms that lambda weighs are of second order in the change of a score, so one grid
// serves every model: from hardly any pull up to one that leaves almost no flip gap.
constexpr double kLeastLambda = 0.03, kMostLambda = 1e5;
// Each solve starts from the result for the neighbouring lambda, so a few steps are enough.
constexpr int kSteps = 12;
constexpr double kMinFall = 1e-3;
constexpr Index kAdamSteps = 400, kAdamBatch = 256;

std::vector<double> lambda_grid(const DebiasOptions& options) {
  std::vector<double> grid;
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

SolveAdamOptions adam_options(std::span<const PairSet> sets) {
  Index pairs = 0;
  for (const PairSet& set : sets) pairs += set.size();
  const Index steps = std::max<Index>(1, (pairs + kAdamBatch - 1) / kAdamBatch);
  const auto epochs = static_cast<int>(std::clamp<Index>(kAdamSteps / steps, 4, 200));
  return {.epochs = epochs, .batch = kAdamBatch, .learning_rate = 1e-3};
}

// Whether the head reads the columns that are flipped. Then the far end of the path is
// known: with the columns averaged no flip changes anything, on any row. Continuation from
// there keeps what holds for every row. Paths that began at theta0 were tried on all
// layers of an Adult network (400 pairs). They left a flip gap of .006 to .008 on other
// rows, presumably because weights can hide the flips of the edit rows alone.
bool flips_columns(const CandidateInput& input) {
  return head_on_columns(input.model) &&
         std::all_of(input.edit.pairs.begin(), input.edit.pairs.end(),
                     [](const StudyPairs& pairs) { return pairs.kind == PairKind::flip; });
}

Vector averaged(const CandidateInput& input, const Exec& exec) {
  std::vector<const Attribute*> repaired;
  for (const StudyPairs& pairs : input.edit.pairs)
    repaired.push_back(&input.edit.study->attributes[pairs.attribute]);
  return average_features(*input.model.head, input.model.theta, input.edit.view(),
                          attribute_features(input.model, repaired), exec);
}

// Adam, unless a gap is asked for: a minibatch gives no estimate of a gap. 30 lambdas on
// two layers of an ACSIncome network (4,800 pairs) took 29 CPU seconds and left a flip
// gap of .005, by Levenberg-Marquardt 211 and .011, audits included. On all layers it was
// 56 against 313, both with gaps below 1e-6. That is one run of each; J was not compared
// at equal time.
bool by_adam(const DebiasOptions& options) {
  return options.optimizer == NetworkOptimizer::adam ||
         (options.optimizer == NetworkOptimizer::automatic && options.gaps.empty());
}

}  // namespace

Candidates network_candidates(const CandidateInput& input, const DebiasOptions& options,
                              const Exec& exec) {
  const Model& model = input.model;
  if (options.method == RepairMethod::path)
    throw Error(ErrorKind::unsupported,
                "debias: method path does not work on two or more layers of a network",
                "use --method solve, or --layers 1");
  SolveOptions how{.anchor = options.anchor,
                   .fit = options.fit,
                   .lambda = 0,
                   .mu = options.mu >= 0 ? options.mu : model.note.l2,
                   .gaps = gap_penalties(model, input.edit, options),
                   .max_iterations = kSteps,
                   .min_fall = kMinFall};
  const std::vector<PairSet> sets = input.edit.sets();
  const SolveAdamOptions adam = adam_options(sets);
  const bool minibatches = by_adam(options);
  Candidates candidates;
  InverseSummary& s = candidates.solve;
  s.converged = true;
  s.solver = minibatches ? "adam" : "levenberg-marquardt";
  std::vector<double> grid = lambda_grid(options);
  const bool from_above = flips_columns(input);
  Vector start = from_above ? averaged(input, exec) : model.theta;
  if (from_above) std::reverse(grid.begin(), grid.end());
  for (const double lambda : grid) {
    exec.report("repairing", std::ssize(candidates.all), std::ssize(grid));
    how.lambda = lambda;
    const SolveResult solved =
        minibatches
            ? solve_adam(*model.head, model.theta, input.edit.view(), sets, how, adam,
                         nullptr, exec, start)
            : solve(*model.head, model.theta, input.edit.view(), sets, how, exec, start);
    start = solved.theta;
    Candidate candidate;
    candidate.lambda = lambda;
    candidate.kind = "solve";
    candidate.theta = solved.theta;
    candidates.all.push_back(std::move(candidate));
    s.residual = std::max(s.residual, solved.summary.gradient);
    s.iterations += solved.summary.iterations;
    if (solved.summary.status == SolveStatus::stopped) s.converged = false;
  }
  if (from_above) std::reverse(candidates.all.begin(), candidates.all.end());
  candidates.hessian_source = "none";
  candidates.status = s.converged ? "converged" : "stopped";
  return candidates;
}

Vector fine_tuned(const Model& model, const StudyPart& edit, const Exec& exec) {
  const SolveOptions how{
      .anchor = 0, .fit = 1, .lambda = 0, .mu = model.note.l2, .gaps = {}};
  const std::vector<PairSet> sets = edit.sets();
  if (model.head->linear())
    return solve(*model.head, model.theta, edit.view(), sets, how, exec).theta;
  return solve_adam(*model.head, model.theta, edit.view(), sets, how, adam_options(sets),
                    nullptr, exec)
      .theta;
}

}  // namespace fmd::internal
