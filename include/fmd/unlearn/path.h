#pragma once

#include <span>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/head.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd {

// The whole trade-off between staying close to the trained head and being consistent, from
// one eigendecomposition, or for large heads from one Krylov space.
//
// With the quadratic anchor |theta - theta0|^2_H / 2, and the gaps of the pairs linearised
// by secants,
//   theta(lambda) = argmin 1/2 (theta - theta0)^T H (theta - theta0)
//                          + lambda theta^T G theta
//                 = (H + 2 lambda G)^-1 H theta0
//   G = mean_i (delta_i delta_i^T) (x) (Sbar_i^T Sbar_i),  delta_i = phi(c_i) - phi(cbar_i)
// where Sbar_i is the secant slope, p(c) - p(cbar) = Sbar (z(c) - z(cbar)) at theta0
// (sigmoid: Delta p / Delta z, and the factor 2 of two classes; softmax: Gauss-Legendre of
// S between the two logits). With G u = g H u, U^T H U = I:
//   theta(lambda) = sum_j u_j (u_j^T H theta0) / (1 + 2 lambda g_j).
// Linear heads only. The sets of pairs of A attributes count 1/A each.

// G at theta: parameters x parameters. Intercepts cancel in delta, so their rows are 0. The
// bits are the same for any number of threads. Throws Error(bad_shape, bad_data: a set
// without pairs or weight).
[[nodiscard]] Matrix consistency_matrix(const LinearHead& head,
                                        std::span<const PairSet> pairs, const Vector& theta,
                                        const Exec& exec);

struct Path {
  Vector theta0;
  Vector g;            // generalised eigenvalues, ascending; 0 where <= 1e-12 g_max
  Matrix U;            // H-orthonormal; large heads: only directions that theta0 sees
  Vector coefficient;  // U^T H theta0
  double damping = 0;  // on H
  double rcond = 0;    // 0 = unknown
  // Large heads: the worst residual of the solves with H, or the error of theta(lambda) at
  // the last lambda of path_lambdas(), relative in the norm of H, where that is larger.
  double residual = 0;
  bool converged = true;

  // lambda >= 0. Infinity gives the limit: every direction with g_j > 0 is taken out.
  // theta(0) is theta0 to the bit. Cost: one product with the columns of U whose g_j > 0.
  [[nodiscard]] Vector theta(double lambda) const;
};

// H as hessian() gives it, with l2 and gauge. It is damped by the rule of make_cholesky.
// Cost: one generalised eigendecomposition. Throws Error(bad_shape, numerical).
[[nodiscard]] Path make_path(const Matrix& H, const Matrix& G, const Vector& theta0);

struct PathOptions {
  double l2 = 0;                 // of F, in H
  Index max_dense = kMostDense;  // most parameters for which H and G are formed
  // Large heads: most directions; each takes one solve with H and twice the memory of
  // theta.
  Index max_directions = 200;
};

// The same from the rows whose Hessian is H and the pairs of G. With more than max_dense
// parameters neither is formed: conjugate gradients and Lanczos find the directions that
// make up theta0 - theta(lambda), all at once for every lambda, and U has only these. Then
// theta(lambda) and the grid are those of the eigendecomposition to about 1e-9, where
// `converged` says so. Throws Error(bad_shape, bad_data, bad_option, numerical).
[[nodiscard]] Path make_path(const LinearHead& head, const Rows& rows,
                             std::span<const PairSet> pairs, const Vector& theta0,
                             const PathOptions& options, const Exec& exec);

// A grid of `points` lambdas, ascending and log-spaced, that spans the path. At the first
// one the strongest direction keeps 99 % of itself; at the last one the weakest direction
// that matters keeps 1e-7. Directions matter when they make up the gaps of the pairs at
// theta0: all of them, except the weakest that together hold 1e-14 of the mean squared gap,
// and except those with g <= 1e-9 g_max. The grid depends on the path alone, so it sees no
// row that a choice is made on. One point means the last one. Throws Error(bad_option).
[[nodiscard]] std::vector<double> path_lambdas(const Path& path, Index points);

}  // namespace fmd
