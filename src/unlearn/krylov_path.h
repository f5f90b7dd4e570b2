#pragma once

#include <functional>

#include "core/internal.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/unlearn/path.h"

namespace fmd::internal {

// G V of consistency_matrix() without G: one pass over the pairs. Cost: n C^2 for the
// slopes, and the entries of the differences. Refers to its arguments.
class ConsistencyProduct {
 public:
  ConsistencyProduct(const LinearHead& head, std::span<const PairSet> pairs,
                     const Vector& theta, const Exec& exec)
      : head_(head), pairs_(pairs), theta_(theta), exec_(exec) {}
  [[nodiscard]] Vector apply(const Vector& v) const;

 private:
  void add_block(const PairSet& set, Index b, double scale, const Vector& v,
                 Vector& into) const;

  const LinearHead& head_;
  std::span<const PairSet> pairs_;
  const Vector& theta_;
  const Exec& exec_;
};

// The path in the space that theta0 sees: theta0 - theta(lambda) = 2 lambda (1 + 2 lambda
// H^-1 G)^-1 H^-1 G theta0 is, for every lambda at once, in the Krylov space of H^-1 G and
// H^-1 G theta0. Lanczos' vectors of that space are the columns of U, and its Ritz values
// are g: with them theta(lambda) is the same as after as many steps of conjugate gradients
// on H + 2 lambda G, preconditioned by H, at each lambda. The space is complete after as
// many steps as G theta0 has directions: a flip of an attribute of k values has at most
// k - 1 of them for each output. Ends there, when every point of the grid is exact to
// 1e-9, or after `steps` steps; path.residual says how exact it is. Cost of a step: one
// solve with H and one pass over the pairs.
[[nodiscard]] Path krylov_path(const InverseHessian& H, const ConsistencyProduct& G,
                               const Vector& theta0, Index steps, const Exec& exec);

}  // namespace fmd::internal
