#pragma once

#include <deque>
#include <functional>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// The inverse of a Hessian that was exact some steps ago, corrected by the steps since then
// (BFGS, two loops): each gradient pass also says something about the curvature.
class QuasiNewton {
 public:
  using Solve = std::function<Vector(const Vector&)>;

  explicit QuasiNewton(Solve solve) : solve_(std::move(solve)) {}

  // step = theta_new - theta, change = the gradient's change. Steps without positive
  // curvature (rounding) are ignored.
  void add(Vector step, Vector change);

  // Approximately H^-1 g.
  [[nodiscard]] Vector apply(Vector g) const;

 private:
  struct Pair {
    Vector step, change;
    double inverse_curvature;
  };
  Solve solve_;
  std::deque<Pair> pairs_;
};

}  // namespace fmd::internal
