#pragma once

#include <optional>

#include "unlearn/solve_problem.h"
#include "unlearn/split_cholesky.h"

namespace fmd::internal {

// One Levenberg-Marquardt step of solve().
struct LmStep {
  Vector change;
  double predicted = 0;  // how much J should fall; 0 when no step was found
};

// Makes Levenberg-Marquardt steps s: (damping x hold + B) s = -gradient, where B is the
// curvature of J.
//
// Far from the minimum (a large damping) B is the Gauss-Newton matrix, formed and factored
// at this point. Near the minimum Gauss-Newton converges slowly, because it lacks second
// derivatives. There B is exact: conjugate gradients on its products, with the last factor
// as the preconditioner, so that one matrix serves many steps. Linear heads that are too
// large for a matrix use the products in both cases, preconditioned by Kronecker factors
// (several outputs, at most kMostKronecker inputs) or by the diagonal.
// Networks always use Gauss-Newton's products, preconditioned layer by layer
// (unlearn/layer_inverse.h). Their damping also adds its share of the mean curvature of
// hold in all directions: dead units leave directions that nothing holds, and J is still
// curved along them.
class LmStepModel {
 public:
  LmStepModel(const SolveProblem& problem, Index max_dense);

  // residual: the relative residual at which conjugate gradients stop.
  [[nodiscard]] LmStep lm_step(const SolveProblem::Point& point, double damping,
                               double residual);

  // A smaller residual does not pay: the model of J is not exact, even near by.
  [[nodiscard]] double least_residual() const { return linear_ ? 1e-4 : 0.1; }

  // From this damping on, a point counts as far from the minimum.
  static constexpr double kFar = 0.02;

  // The step was taken: the matrices belong to an earlier point from now on.
  void moved() { old_ = true; }
  [[nodiscard]] int formed() const { return formed_; }

  // From now on J has another lambda. False where no matrix serves for it.
  bool reweigh(double earlier, double lambda);

 private:
  [[nodiscard]] double mean_hold(const SolveProblem::Point& point) const;
  void renew(const SolveProblem::Point& point);
  void renew_layers(const SolveProblem::Point& point, double damping);
  bool factor(double damping);
  void precondition(Vector& v) const;
  [[nodiscard]] LmStep direct(const Vector& gradient, double damping) const;
  [[nodiscard]] LmStep conjugate_gradients(const SolveProblem::Point& point, double damping,
                                           double residual, bool exact);

  const SolveProblem& problem_;
  bool linear_, dense_;
  bool factored_;          // preconditioned layer by layer
  double ridge_ = 0;       // networks: what damping adds in all directions
  double mean_hold_ = -1;  // networks: the mean curvature of hold; -1 = not known yet
  bool usable_ = false;    // the matrix serves as preconditioner
  bool old_ = true;        // it was formed at an earlier point
  int formed_ = 0;
  SolveProblem::Curvature curvature_;
  SplitCholesky factor_;
  double factor_damping_ = -1;  // of factor_; -1 = none
  Vector diagonal_;             // large linear heads
  std::optional<LayerCurvature> layers_;
  LayerInverse layer_inverse_;
};

}  // namespace fmd::internal
