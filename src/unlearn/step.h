#pragma once

#include <optional>

#include "unlearn/problem.h"

namespace fmd {

// Steps s of (damping x hold + B) s = -gradient, B the curvature of J.
//
// Far from the minimum (a large damping) B is the Gauss-Newton matrix, formed and factored
// at this point. Near it, where Gauss-Newton converges slowly for want of second
// derivatives, B is exact: conjugate gradients on its products, with the last factor as the
// preconditioner, so that one matrix serves many steps. Linear heads that are too large for
// a matrix use the products in both cases, preconditioned by the diagonal. Networks use
// Gauss-Newton's products everywhere, preconditioned layer by layer (layer_inverse.h), and
// damping adds its share of hold's mean curvature in all directions: those that hold does
// not see are bent all the same.
class StepModel {
 public:
  StepModel(const SolveProblem& problem, Index max_dense);

  struct Step {
    Vector change;
    double predicted = 0;  // how much J should fall; 0 when no step was found
  };
  // residual: where conjugate gradients stop, relative.
  [[nodiscard]] Step step(const SolveProblem::Point& point, double damping,
                          double residual);

  // Below this, exactness does not pay: Gauss-Newton is not what J is like near by.
  [[nodiscard]] double least_residual() const { return linear_ ? 1e-4 : 0.1; }

  // From this damping on a point counts as far.
  static constexpr double kFar = 0.02;

  // The step was taken: what was formed belongs to an earlier point now.
  void moved() { old_ = true; }
  [[nodiscard]] int formed() const { return formed_; }

 private:
  [[nodiscard]] double mean_hold(const SolveProblem::Point& point) const;
  void renew(const SolveProblem::Point& point);
  void renew_layers(const SolveProblem::Point& point, double damping);
  bool factor(double damping);
  void precondition(Vector& v) const;
  [[nodiscard]] Step direct(const Vector& gradient, double damping) const;
  [[nodiscard]] Step conjugate_gradients(const SolveProblem::Point& point, double damping,
                                         double residual, bool exact);

  const SolveProblem& problem_;
  Index outputs_, stride_;
  bool linear_, dense_;
  double ridge_ = 0;       // of networks: what damping adds in all directions
  double mean_hold_ = -1;  // of networks: see above; -1 = not known yet
  bool usable_ = false;    // the matrix serves as preconditioner
  bool old_ = true;        // it was formed at an earlier point
  int formed_ = 0;
  SolveProblem::Curvature curvature_;
  Matrix factor_;
  double factor_damping_ = -1;  // of factor_; -1 = none
  Vector diagonal_;             // of large heads
  std::optional<LayerCurvature> layers_;
  LayerInverse layer_inverse_;
};

}  // namespace fmd
