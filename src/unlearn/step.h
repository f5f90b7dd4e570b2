#pragma once

#include "unlearn/problem.h"

namespace fmd {

// Damped Gauss-Newton steps: ((1 + damping) hold + pull) step = -gradient.
class StepModel {
 public:
  explicit StepModel(const SolveProblem& problem, const LinearHead& head, Index max_dense);

  struct Step {
    Vector change;
    double predicted = 0;  // how much J should fall; 0 when no step was found
  };
  // From the matrix of the last renew(), factored anew when the damping is another one.
  [[nodiscard]] Step step(const SolveProblem::Point& point, double damping);

  // Forms the matrix at this point. Nothing to do without a matrix.
  void renew(const SolveProblem::Point& point);
  // The matrix belongs to an earlier point.
  [[nodiscard]] bool old() const { return dense_ && old_; }
  void moved() { old_ = true; }
  [[nodiscard]] int formed() const { return formed_; }

 private:
  bool factor(double damping);
  [[nodiscard]] Step solve_dense(const Vector& gradient, double damping);
  [[nodiscard]] Step solve_cg(const SolveProblem::Point& point, double damping) const;

  const SolveProblem& problem_;
  Index outputs_, stride_;
  bool dense_, old_ = true;
  int formed_ = 0;
  SolveProblem::Curvature curvature_;
  Matrix factor_;
  double factor_damping_ = -1;  // of factor_; -1 = none
};

}  // namespace fmd
