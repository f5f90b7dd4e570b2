#include "unlearn/step.h"

#include <cmath>

#include "core/lapack.h"

namespace fmd {
namespace {

constexpr int kMaxProducts = 50;
constexpr double kResidual = 0.1;

}  // namespace

StepModel::StepModel(const SolveProblem& problem, const LinearHead& head, Index max_dense)
    : problem_(problem),
      outputs_(head.outputs()),
      stride_(head.inputs() + 1),
      dense_(head.parameters() <= max_dense) {}

void StepModel::renew(const SolveProblem::Point& point) {
  old_ = false;
  if (!dense_) return;
  curvature_ = problem_.curvature(point);
  factor_damping_ = -1;
  ++formed_;
}

StepModel::Step StepModel::step(const SolveProblem::Point& point, double damping) {
  return dense_ ? solve_dense(point.gradient, damping) : solve_cg(point, damping);
}

// Directions that J does not see (a constant added to all classes, columns of a one-hot group
// together with the intercept) have no curvature and no gradient: the first gets the gauge term,
// the others a ridge that is small enough not to be felt elsewhere.
bool StepModel::factor(double damping) {
  if (damping == factor_damping_) return true;
  const Index n = stride_ * outputs_;
  const Vector hold = curvature_.hold.diagonal();
  const Vector scale = hold.maxCoeff() > 0 ? hold : Vector(curvature_.pull.diagonal());
  const double mean = scale.mean();
  for (double ridge = 1e-10; ridge < 1; ridge *= 100) {
    factor_ = (1 + damping) * curvature_.hold + curvature_.pull;
    factor_.diagonal() += ridge * (scale.array() + mean).matrix();
    if (outputs_ > 1)
      for (Index k = 0; k < outputs_; ++k)
        for (Index l = 0; l < outputs_; ++l)
          factor_.block(k * stride_, l * stride_, stride_, stride_).diagonal().array() +=
              mean / static_cast<double>(outputs_);
    const int size = static_cast<int>(n);
    int info = 0;
    dpotrf_("L", &size, factor_.data(), &size, &info);
    if (info != 0) continue;
    factor_damping_ = damping;
    return true;
  }
  factor_damping_ = -1;
  return false;
}

StepModel::Step StepModel::solve_dense(const Vector& gradient, double damping) {
  Step step{.change = -gradient, .predicted = 0};
  if (!factor(damping)) return step;
  const int size = static_cast<int>(gradient.size()), one = 1;
  int info = 0;
  dpotrs_("L", &size, &one, factor_.data(), &size, step.change.data(), &size, &info);
  const double held = step.change.dot(curvature_.hold * step.change);
  step.predicted = (damping * held - gradient.dot(step.change)) / 2;
  return step;
}

StepModel::Step StepModel::solve_cg(const SolveProblem::Point& point, double damping) const {
  const auto diagonal = problem_.diagonal(point);
  Vector scale = (1 + damping) * diagonal.hold + diagonal.pull;
  const double floor = 1e-8 * scale.mean();
  scale = scale.cwiseMax(floor > 0 ? floor : 1.0);
  Step step{.change = Vector::Zero(point.gradient.size()), .predicted = 0};
  Vector residual = -point.gradient;
  Vector scaled = residual.cwiseQuotient(scale), direction = scaled;
  double size = residual.dot(scaled);
  const double goal = kResidual * kResidual * size;
  for (int i = 0; i < kMaxProducts && size > goal; ++i) {
    const Vector image = problem_.product(point, direction, 1 + damping);
    const double curvature = direction.dot(image);
    if (!(curvature > 0)) break;
    const double length = size / curvature;
    step.change += length * direction;
    residual -= length * image;
    scaled = residual.cwiseQuotient(scale);
    const double next = residual.dot(scaled);
    direction = scaled + next / size * direction;
    size = next;
  }
  // At the end of conjugate gradients the residual is orthogonal to the step.
  step.predicted = -point.gradient.dot(step.change) / 2;
  return step;
}

}  // namespace fmd
