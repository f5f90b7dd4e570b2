#include "fmd/fit/train.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "core/check.h"
#include "curvature/cholesky.h"
#include "fit/quasi_newton.h"
#include "fit/training_rows.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/hessian.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "model/stacked_rows.h"

namespace fmd {
namespace {

// These were tuned for speed on Adult; the optimum does not depend on them.
constexpr double kSlow = 0.4;  // a smaller drop of the gradient asks for a new Hessian
constexpr double kLeastDamping = 1e-10;   // of the mean eigenvalue
constexpr double kNewtonResidual = 1e-2;  // of a step by conjugate gradients
constexpr int kMostHalvings = 30;
constexpr double kSampleGradient = 1e-3;
constexpr Index kSampleRows = 4000;
constexpr int kSampleSteps = 6;  // on the first sample
constexpr int kLaterSteps = 2;   // on the others

// F on some rows, with what is needed to minimise it.
struct Problem {
  const LinearHead& head;
  const Rows& rows;
  double l2;
  double n;
  Index max_dense;
  const Exec& exec;

  // The Hessian is never formed.
  [[nodiscard]] bool large() const { return head.parameters() > max_dense; }
  [[nodiscard]] Objective at(const Vector& theta) const {
    return objective(head, rows, theta, l2, n, exec);
  }
  // As much damping as the rule asks for, or the smallest that serves: see inverse().
  [[nodiscard]] std::shared_ptr<const InverseHessian> by_products(
      const Vector& theta) const {
    CurvatureOptions options{.solver = Solver::cg,
                             .l2 = l2,
                             .rows_in_mean = n,
                             .tolerance = kNewtonResidual,
                             .max_dense = max_dense};
    std::shared_ptr<const InverseHessian> made =
        make_inverse_hessian(head, rows, theta, options, exec);
    if (made->damping() == 0) return made;
    options.damping.damping = kLeastDamping / kDampingShare * made->damping();
    return make_inverse_hessian(head, rows, theta, options, exec);
  }
  [[nodiscard]] std::shared_ptr<const InverseHessian> inverse(const Vector& theta) const {
    if (large()) return by_products(theta);
    const HessianOptions options{.l2 = l2, .rows_in_mean = n, .gauge = true};
    const Matrix H = hessian(head, rows, theta, options, exec);
    std::shared_ptr<const InverseHessian> inverse = make_cholesky(H);
    if (inverse->damping() == 0) return inverse;
    // The rule's damping is made for answers, where it must hide what the rows do not show.
    // On the way to an optimum it only slows down, so the smallest damping that gives a
    // factor is better.
    const double least = kLeastDamping * H.trace() / static_cast<double>(H.rows());
    try {
      if (least > 0) return make_cholesky(H, {.damping = least});
    } catch (const Error&) {
      return inverse;
    }
    return inverse;
  }
};

struct State {
  Vector theta;
  Objective F;
  int gradients = 0;
  int hessians = 0;
  bool stuck = false;
};

// The longest step theta + t direction, t = 1, 1/2, 1/4 ..., that does not raise F. Near
// the optimum F is flat to rounding; there a smaller gradient counts.
bool line_search(const Problem& problem, State& state, const Vector& direction) {
  const double slack = 4 * std::numeric_limits<double>::epsilon() * std::abs(state.F.value);
  double t = 1;
  for (int tries = 0; tries < kMostHalvings; ++tries, t /= 2) {
    const Vector theta = state.theta + t * direction;
    Objective F = problem.at(theta);
    ++state.gradients;
    const bool lower = F.value < state.F.value - slack;
    const bool flat =
        F.value <= state.F.value + slack && F.gradient.norm() < state.F.gradient.norm();
    if (!(lower || flat) || !F.gradient.allFinite()) continue;
    state.theta = theta;
    state.F = std::move(F);
    return true;
  }
  return false;
}

using Curvature = std::unique_ptr<QuasiNewton>;

// Minimises from state.theta until |grad| <= target or `most` steps are done. `curvature`
// may come from a similar problem; empty = formed here. The last one is left in it.
void minimise(const Problem& problem, double target, int most, State& state,
              Curvature& curvature) {
  for (int step = 0; step < most && !(state.F.gradient.norm() <= target); ++step) {
    problem.exec.report(
        fmt::format("training on {} rows, step {}: gradient {:.0e}, {:.0e} wanted",
                    problem.rows.size(), step + 1, state.F.gradient.norm(), target),
        0, 0);
    const bool fresh = curvature == nullptr;
    if (fresh) {
      const auto inverse = problem.inverse(state.theta);
      curvature = std::make_unique<QuasiNewton>(
          [inverse](const Vector& g) -> Vector { return inverse->apply(g).x.col(0); });
      ++state.hessians;
    }
    const State before = state;
    const bool moved = line_search(problem, state, -curvature->apply(state.F.gradient));
    if (!moved && fresh) {
      state.stuck = true;
      return;
    }
    const bool slow = state.F.gradient.norm() > kSlow * before.F.gradient.norm();
    // Products with a new Hessian cost no more than those with an old one.
    if (!moved || slow || problem.large()) {
      curvature = nullptr;
    } else {
      curvature->add(state.theta - before.theta, state.F.gradient - before.F.gradient);
    }
  }
}

// One row out of each stretch of equal length, at a random place: spread like a grid, but
// not disturbed by periods in the order of rows.
std::vector<Index> sample_rows(const Rows& rows, Index count) {
  Rng rng(1, "train sample");
  std::vector<Index> sample;
  const Index size = rows.size();
  for (Index i = 0; i < count; ++i) {
    const Index first = i * size / count, last = (i + 1) * size / count;
    sample.push_back(rows.row(first + rng.below(last - first)));
  }
  return sample;
}

// Some rows with their features side by side: gathered once, read at every step.
struct Sample {
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y;
  std::vector<float> weight;

  [[nodiscard]] Rows view() const { return {X.get(), y, weight, {}}; }
};

Sample take_sample(const Rows& rows, Index count) {
  const std::vector<Index> numbers = sample_rows(rows, count);
  Sample sample;
  const Rows drawn{rows.X, {}, {}, numbers};
  sample.X = stack_rows({&drawn, 1});
  for (const Index number : numbers) {
    sample.y.push_back(rows.y[static_cast<std::size_t>(number)]);
    if (!rows.weight.empty())
      sample.weight.push_back(rows.weight[static_cast<std::size_t>(number)]);
  }
  return sample;
}

// A start near the optimum: first from a sample of a few thousand rows, then of four times
// as many, and so on. A step costs as much as its sample, and the optima of two samples
// differ only by chance. The start is kept when it lowers F, with the curvature of the
// largest sample.
void start_on_samples(const Problem& problem, State& state, Curvature& curvature) {
  const Index size = problem.rows.size();
  Index count = std::max<Index>(kSampleRows, 10 * problem.head.parameters());
  if (size < 4 * count) return;
  Vector theta = state.theta;
  Curvature found;
  for (int most = kSampleSteps; 2 * count <= size; count *= 4, most = kLaterSteps) {
    const Sample sample = take_sample(problem.rows, count);
    const Rows rows = sample.view();
    const double share = static_cast<double>(count) / static_cast<double>(size);
    const Problem small{problem.head,      rows,        problem.l2, problem.n * share,
                        problem.max_dense, problem.exec};
    State on_sample{theta, small.at(theta)};
    const double target = kSampleGradient * state.F.gradient.norm();
    minimise(small, target, most, on_sample, found);
    theta = on_sample.theta;
  }
  Objective F = problem.at(theta);
  ++state.gradients;
  if (F.value < state.F.value && F.gradient.allFinite()) {
    state.theta = theta;
    state.F = std::move(F);
    curvature = std::move(found);
  }
}

// The class mean of softmax parameters changes no probability and only costs ridge. Without
// it every gradient has class sum 0, which the gauge term needs.
void centre(const LinearHead& head, Vector& theta) {
  if (!head.gauge()) return;
  Matrix all(head.outputs(), head.inputs() + 1);
  all << head.W(theta), head.b(theta);
  const Eigen::RowVectorXd mean = all.colwise().mean();
  all.rowwise() -= mean;
  theta = head.from(all.leftCols(head.inputs()), all.col(head.inputs()));
}

// Total weight of each class; checks the labels on the way.
Vector class_weights(const LinearHead& head, const Rows& rows) {
  const Index classes = classes_of(head.outputs());
  Vector total = Vector::Zero(classes);
  for (Index i = 0; i < rows.size(); ++i) {
    const double w = rows.weight_of(i);
    if (w == 0) continue;
    if (!(w > 0) || !std::isfinite(w)) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("train: row {} has weight {}, must be >= 0", rows.row(i), w));
    }
    const std::int32_t y = rows.label(i);
    if (y < 0 || y >= classes) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("train: row {} has label {}, must be 0 to {}", rows.row(i), y,
                              classes - 1),
                  "leave rows without a label out, or give them weight 0");
    }
    total[y] += w;
  }
  if (!(total.sum() > 0))
    throw Error(ErrorKind::bad_data, "train: there are no rows", "give at least one row");
  return total;
}

// F may have no minimum (classes that a hyperplane separates, without ridge). Then the
// gradient vanishes on the way to infinity too, but Newton's step does not.
bool runs_away(const Problem& problem, const State& state) {
  const Vector step = problem.inverse(state.theta)->apply(state.F.gradient).x.col(0);
  const double size = state.theta.lpNorm<Eigen::Infinity>();
  return !(step.lpNorm<Eigen::Infinity>() <= 1e-4 * (1 + size));
}

void validate(const LinearHead& head, const Rows& rows, const TrainOptions& options,
              const Vector& start) {
  require_option(options.l2 >= 0 || options.l2 == -1, "train", "l2", options.l2,
                 ">= 0, or -1 for 1/n");
  require_option(options.relative_gradient > 0, "train", "relative_gradient",
                 options.relative_gradient, "> 0");
  require_option(options.max_iterations > 0, "train", "max_iterations",
                 options.max_iterations, "> 0");
  require_option(options.rows_in_mean >= 0, "train", "rows_in_mean", options.rows_in_mean,
                 ">= 0");
  require_option(options.max_dense >= 0, "train", "max_dense", options.max_dense, ">= 0");
  require_training(head, rows, start);
}

}  // namespace

TrainResult train_linear(const LinearHead& head, const Rows& rows,
                         const TrainOptions& options, const Exec& exec,
                         const Vector& start) {
  validate(head, rows, options, start);
  const Vector in_class = class_weights(head, rows);
  const double n =
      options.rows_in_mean > 0 ? options.rows_in_mean : static_cast<double>(rows.size());
  const Problem problem{
      head, rows, options.l2 >= 0 ? options.l2 : 1 / n, n, options.max_dense, exec};

  State state{Vector::Zero(head.parameters()), {}};
  state.F = problem.at(state.theta);
  state.gradients = 1;
  const double scale = state.F.gradient.norm();
  const double target = options.relative_gradient * scale;
  Curvature curvature;
  if (start.size() > 0) {
    state.theta = start;
    centre(head, state.theta);
    state.F = problem.at(state.theta);
    ++state.gradients;
  } else {
    start_on_samples(problem, state, curvature);
  }
  minimise(problem, target, options.max_iterations, state, curvature);

  TrainResult result;
  const bool reached = state.F.gradient.norm() <= target;
  bool minimum = reached;
  if (reached && (problem.l2 == 0 || in_class.minCoeff() == 0)) {
    ++state.hessians;
    minimum = !runs_away(problem, state);
  }
  result.summary = {.status = minimum ? TrainStatus::converged : TrainStatus::stopped,
                    .iterations = state.gradients,
                    .factorisations = state.hessians,
                    .objective = state.F.value,
                    .relative_gradient = scale > 0 ? state.F.gradient.norm() / scale : 0,
                    .l2 = problem.l2};
  result.theta = std::move(state.theta);
  return result;
}

}  // namespace fmd
