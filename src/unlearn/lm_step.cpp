#include "unlearn/lm_step.h"

#include <algorithm>
#include <cmath>

#include "fmd/core/rng.h"

namespace fmd::internal {
namespace {

constexpr int kMaxProducts = 50;
constexpr int kSlow = 25;  // so many products show that the preconditioner is out of date

bool has_kronecker(const LinearHead& head) {
  return head.whole() && head.outputs() > 1 && head.inputs() <= kMostKronecker;
}

}  // namespace

LmStepModel::LmStepModel(const SolveProblem& problem, Index max_dense)
    : problem_(problem),
      linear_(problem.head().linear()),
      dense_(linear_ && problem.head().parameters() <= max_dense),
      factored_(!linear_ || (!dense_ && has_kronecker(*problem.head().as_linear()))) {}

// The mean curvature of hold, estimated with one random vector of signs.
double LmStepModel::mean_hold(const SolveProblem::Point& point) const {
  Rng rng(0, "mean curvature");
  Vector signs(point.theta.size());
  for (Index j = 0; j < signs.size(); ++j) signs[j] = rng.below(2) == 0 ? -1 : 1;
  const Vector hold =
      problem_.product(point, signs, 1, false) - problem_.product(point, signs, 0, false);
  return std::max(0.0, signs.dot(hold) / static_cast<double>(signs.size()));
}

void LmStepModel::renew(const SolveProblem::Point& point) {
  curvature_ = problem_.curvature(point);
  factor_damping_ = -1;
  old_ = false;
  usable_ = true;
  ++formed_;
}

bool LmStepModel::reweigh(double earlier, double lambda) {
  old_ = true;
  layers_.reset();
  mean_hold_ = -1;
  if (earlier == lambda) return dense_ && usable_;
  usable_ = usable_ && dense_ && earlier > 0 && problem_.only_lambda_pulls();
  if (!usable_) return false;
  curvature_.pull *= lambda / earlier;
  factor_damping_ = -1;
  return true;
}

void LmStepModel::renew_layers(const SolveProblem::Point& point, double damping) {
  if (old_ || !layers_) layers_ = problem_.layers(point);
  old_ = false;
  layer_inverse_ =
      LayerInverse(*layers_, 1 + damping, ridge_ + problem_.mu() * (1 + damping));
}

LmStep LmStepModel::lm_step(const SolveProblem::Point& point, double damping,
                            double residual) {
  const bool far = damping >= kFar;
  if (!linear_) {
    if (mean_hold_ < 0) mean_hold_ = mean_hold(point);
    ridge_ = damping * mean_hold_;
    renew_layers(point, damping);
    return conjugate_gradients(point, damping, residual, false);
  }
  if (!dense_ && factored_) {
    renew_layers(point, damping);
    return conjugate_gradients(point, damping, residual, !far);
  }
  if (!dense_) {
    const auto diagonal = problem_.diagonal(point);
    diagonal_ = (1 + damping) * diagonal.hold + diagonal.pull;
    const double floor = 1e-8 * diagonal_.mean();
    diagonal_ = diagonal_.cwiseMax(floor > 0 ? floor : 1.0);
    return conjugate_gradients(point, damping, residual, !far);
  }
  if (!usable_ || (far && old_)) renew(point);
  if ((far || factor_damping_ < 0) && !factor(damping)) return {.change = point.gradient};
  return far ? direct(point.gradient, damping)
             : conjugate_gradients(point, damping, residual, true);
}

// Directions that J does not see (a constant added to all classes, columns of a one-hot
// group together with the intercept) have no curvature and no gradient. The first gets the
// gauge term, the others a ridge that is too small to matter elsewhere.
bool LmStepModel::factor(double damping) {
  if (damping == factor_damping_) return true;
  const Vector hold = curvature_.hold.diagonal();
  const Vector scale = hold.maxCoeff() > 0 ? hold : Vector(curvature_.pull.diagonal());
  const double mean = scale.mean();
  for (double ridge = 1e-10; ridge < 1; ridge *= 100) {
    Matrix whole = (1 + damping) * curvature_.hold + curvature_.pull;
    whole.diagonal() += ridge * (scale.array() + mean).matrix();
    const LinearHead& head = *problem_.head().as_linear();
    head.add_gauge(mean / static_cast<double>(head.outputs()), whole);
    if (!factor_.factor(whole)) continue;
    factor_damping_ = damping;
    return true;
  }
  factor_damping_ = -1;
  return false;
}

void LmStepModel::precondition(Vector& v) const {
  if (factored_) return layer_inverse_.apply(v);
  if (!dense_) {
    v = v.cwiseQuotient(diagonal_);
    return;
  }
  factor_.solve(v);
}

LmStep LmStepModel::direct(const Vector& gradient, double damping) const {
  LmStep step{.change = -gradient, .predicted = 0};
  precondition(step.change);
  const double held = step.change.dot(curvature_.hold * step.change);
  step.predicted = (damping * held - gradient.dot(step.change)) / 2;
  return step;
}

LmStep LmStepModel::conjugate_gradients(const SolveProblem::Point& point, double damping,
                                        double residual, bool exact) {
  LmStep step{.change = Vector::Zero(point.gradient.size()), .predicted = 0};
  Vector rest = -point.gradient, scaled = rest;
  precondition(scaled);
  Vector direction = scaled;
  double size = rest.dot(scaled);
  const double goal = residual * residual * size;
  int products = 0;
  for (; products < kMaxProducts && size > goal; ++products) {
    Vector image = problem_.product(point, direction, 1 + damping, exact);
    if (ridge_ > 0) image += ridge_ * direction;
    const double curvature = direction.dot(image);
    if (!(curvature > 0)) {  // only exact products: J bends down here
      if (products == 0) step.change = direction;
      break;
    }
    const double length = size / curvature;
    step.change += length * direction;
    rest -= length * image;
    scaled = rest;
    precondition(scaled);
    const double next = rest.dot(scaled);
    direction = scaled + next / size * direction;
    size = next;
  }
  if (products >= kSlow && old_) usable_ = false;
  // The residual of conjugate gradients is orthogonal to the step.
  step.predicted = -point.gradient.dot(step.change) / 2;
  return step;
}

}  // namespace fmd::internal
