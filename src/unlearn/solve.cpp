#include "fmd/unlearn/solve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "unlearn/lm_step.h"
#include "unlearn/solve_check.h"
#include "unlearn/solve_problem.h"

namespace fmd {
namespace {

constexpr double kSmallFall =
    1e-13;  // predicted fall of J, relative, that ends the iteration
constexpr double kRounding = 1e-10;  // a predicted fall below this is rounding

// The damping after a step that lowered J by `ratio` of what was predicted. The J of a
// network bends sooner than the last step shows: a fast cut of the damping would cost a
// step that cannot be taken.
double next_damping(double damping, double ratio, bool linear) {
  if (ratio < 0.25) return 4 * damping;
  if (ratio > 0.9 && linear) return damping / 10;
  return ratio > 0.75 ? damping / 3 : damping;
}

struct Run {
  SolveProblem::Point point;
  SolveSummary summary;
};

// Whether a trial may be taken: J fell, or J is equal after rounding and the gradient fell.
bool lower(const SolveProblem::Point& trial, const SolveProblem::Point& now) {
  if (!std::isfinite(trial.value) || !trial.gradient.allFinite()) return false;
  return trial.value < now.value ||
         (trial.value == now.value && trial.gradient.norm() < now.gradient.norm());
}

// Levenberg-Marquardt from run.point. damping: the first one; becomes the last one.
void minimise(const SolveProblem& problem, LmStepModel& model, const SolveOptions& options,
              const Exec& exec, double& damping, Run& run) {
  SolveSummary& s = run.summary;
  const double first = run.point.gradient.norm();
  const double goal = options.tolerance * std::max(1.0, first);
  s.status = SolveStatus::stopped;
  while (s.iterations < options.max_iterations) {
    const double value = run.point.value, slope = run.point.gradient.norm();
    const bool flat = slope <= goal;
    // Looser where only the predicted fall is needed.
    const double residual =
        flat ? 0.3
             : std::clamp(slope / std::max(first, 1e-300), model.least_residual(), 0.1);
    const LmStep lm_step = model.lm_step(run.point, damping, residual);
    if (flat && lm_step.predicted <= kSmallFall * value) {
      s.status = SolveStatus::converged;
      break;
    }
    exec.report("solve", ++s.iterations, options.max_iterations);
    auto trial = problem.at(run.point.theta + lm_step.change);
    if (lm_step.predicted > 0 && lower(trial, run.point)) {
      const double ratio = (value - trial.value) / lm_step.predicted;
      damping = std::max(1e-14, next_damping(damping, ratio, problem.head().linear()));
      const bool little = value - trial.value < options.min_fall * value;
      run.point = std::move(trial);
      model.moved();
      if (little) break;
    } else if (std::abs(lm_step.predicted) <= kRounding * value || damping > 1e12) {
      s.status = flat ? SolveStatus::converged : SolveStatus::stalled;
      break;
    } else {
      damping = std::max(4 * damping, LmStepModel::kFar);
    }
  }
  s.gradient = run.point.gradient.norm() / std::max(1.0, first);
}

}  // namespace

struct SolveSeries::State {
  const Head& head;
  const Vector& theta0;
  SolveOptions options;
  const Exec& exec;
  SolveProblem problem;
  LmStepModel model;
  double damping;

  State(const Head& own_head, const Vector& theta, const Rows& rows,
        std::span<const PairSet> pairs, const SolveOptions& how, const Exec& own_exec)
      : head(own_head),
        theta0(theta),
        options(how),
        exec(own_exec),
        problem(head, theta0, rows, pairs, options, exec),
        model(problem, options.max_dense),
        damping(options.damping) {}
};

SolveSeries::SolveSeries(const Head& head, const Vector& theta0, const Rows& rows,
                         std::span<const PairSet> pairs, const SolveOptions& options,
                         const Exec& exec) {
  require_solvable(head, theta0, rows, pairs, options);
  state_ = std::make_unique<State>(head, theta0, rows, pairs, options, exec);
}

SolveSeries::~SolveSeries() = default;

SolveResult SolveSeries::solve(double lambda, const Vector& start) {
  State& s = *state_;
  require_option(lambda >= 0 && std::isfinite(lambda), "solve", "lambda", lambda, ">= 0");
  if (start.size() > 0) require_size("solve", "start", start.size(), s.head.parameters());
  const double earlier = std::exchange(s.options.lambda, lambda);
  const bool warm = s.model.reweigh(earlier, lambda) && start.size() > 0;
  s.damping = warm ? std::min(s.damping, LmStepModel::kFar / 4) : s.options.damping;
  Run run{.point = s.problem.at(start.size() > 0 ? start : s.theta0), .summary = {}};
  if (!std::isfinite(run.point.value) || !run.point.gradient.allFinite())
    run.point = s.problem.at(s.theta0);
  if (!std::isfinite(run.point.value) || !run.point.gradient.allFinite())
    throw Error(ErrorKind::numerical, "solve: the objective is not finite at theta0",
                "check the model's parameters and the features for NaN or infinity");
  run.summary.start_objective = run.point.value;
  const int formed = s.model.formed();
  minimise(s.problem, s.model, s.options, s.exec, s.damping, run);
  run.summary.objective = run.point.value;
  run.summary.factorisations = s.model.formed() - formed;
  return {.theta = std::move(run.point.theta), .summary = run.summary};
}

SolveResult solve(const Head& head, const Vector& theta0, const Rows& rows,
                  std::span<const PairSet> pairs, const SolveOptions& options,
                  const Exec& exec, const Vector& start) {
  return SolveSeries(head, theta0, rows, pairs, options, exec).solve(options.lambda, start);
}

SolveObjective solve_objective(const Head& head, const Vector& theta0, const Rows& rows,
                               std::span<const PairSet> pairs, const SolveOptions& options,
                               const Vector& theta, const Exec& exec) {
  require_solvable(head, theta0, rows, pairs, options);
  require_size("solve", "theta", theta.size(), head.parameters());
  auto point = SolveProblem(head, theta0, rows, pairs, options, exec).at(theta);
  return {.value = point.value, .gradient = std::move(point.gradient)};
}

}  // namespace fmd
