#include "unlearn/krylov_path.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/sums.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/generalised_eigen.h"
#include "unlearn/delta.h"
#include "unlearn/pair_slopes.h"
#include "unlearn/spans.h"

namespace fmd::internal {
namespace {

constexpr double kExact = 1e-9;  // of theta0 - theta(lambda), in the norm of H
// What is left of a vector when the space is complete: of the vector itself, and of the
// first one, where the rest is rounding.
constexpr double kNothing = 1e-10, kRounding = 1e-13;

// Lanczos' vectors v, H-orthonormal, with q = H v, and what is known of H and G in their
// space. q comes first and v = H^-1 q: taking q out of q rounds to 1e-16, while errors of
// the solves that are taken out of each other grow with every step.
struct Space {
  Matrix V, Q;            // a row for each vector
  Matrix T, S;            // V^T G V, V^T H V
  Vector force;           // V^T H theta0
  double left = 0;        // H-norm of the next vector before it is scaled
  double solved = 0;      // worst residual of the solves
  bool converged = true;  // all of them

  Space(Index steps, Index parameters)
      : V(steps, parameters),
        Q(steps, parameters),
        T(Matrix::Zero(steps, steps)),
        S(Matrix::Zero(steps, steps)),
        force(Vector::Zero(steps)) {}

  // v = H^-1 q of what is left of a pull; left = sqrt(q . v).
  Vector solve(const InverseHessian& H, const Vector& q) {
    const InverseResult result = H.apply(q);
    solved = std::max(solved, result.summary.residual);
    converged = converged && result.summary.converged;
    left = std::sqrt(std::max(0.0, q.dot(result.x.col(0))));
    return result.x.col(0);
  }

  // Adds a vector as number `size`; returns G of it.
  Vector add(Index size, const Vector& v, const Vector& q, const ConsistencyProduct& G,
             const Vector& theta0) {
    V.row(size) = v.transpose() / left;
    Q.row(size) = q.transpose() / left;
    Vector pull = G.apply(V.row(size).transpose());
    force[size] = Q.row(size).dot(theta0.transpose());
    for (Index i = 0; i <= size; ++i) {
      T(i, size) = T(size, i) = V.row(i).dot(pull.transpose());
      S(i, size) = S(size, i) = (V.row(i).dot(Q.row(size)) + V.row(size).dot(Q.row(i))) / 2;
    }
    return pull;
  }

  // Takes what the first vectors hold out of a pull. Twice: once leaves what rounding has
  // made of the large parts.
  void take_out(Index size, Vector& pull) const {
    for (int pass = 0; pass < 2; ++pass)
      for (Index i = 0; i < size; ++i)
        pull -= V.row(i).dot(pull.transpose()) * Q.row(i).transpose();
  }
};

// Where the chain starts: what G sees of theta0, otherwise what it sees at all.
Vector first_pull(const ConsistencyProduct& G, const Vector& theta0) {
  Vector pull = G.apply(theta0);
  if (pull.squaredNorm() > 0) return pull;
  Rng rng(0, "path");
  Vector signs(theta0.size());
  for (Index j = 0; j < signs.size(); ++j) signs[j] = rng.below(2) == 0 ? -1 : 1;
  return G.apply(signs);
}

// The path within the space's first `size` vectors: U in their coordinates.
Path path_within(const Space& space, Index size) {
  Path path;
  auto eigen = generalised_eigen(space.T.topLeftCorner(size, size),
                                 space.S.topLeftCorner(size, size));
  path.theta0 = Vector::Zero(size);
  path.g = eigen.values.cwiseMax(0.0);
  path.coefficient = eigen.vectors.transpose() * space.force.head(size);
  path.U = std::move(eigen.vectors);
  return path;
}

Path path_of(const Space& space, Index size, const Vector& theta0) {
  Path path;
  if (size == 0) {  // no pair has a gap
    path.g = path.coefficient = Vector::Zero(1);
    path.U = Matrix::Zero(theta0.size(), 1);
  } else {
    path = path_within(space, size);
    path.U = space.V.topRows(size).transpose() * path.U;
  }
  path.theta0 = theta0;
  return path;
}

// How exact theta(lambda) is at the last point of the grid, where it is least exact: a
// bound of the error in the norm of H, relative to theta0 - theta(lambda). The residual of
// (1 + 2 lambda T) y = 2 lambda T V^T H theta0 lies along the vector that was left out.
double inexactness(const Space& space, Index size) {
  const Path path = path_within(space, size);
  const double lambda = path_lambdas(path, 1)[0];
  const Vector gone = -path.theta(lambda);  // the space has no theta0 of its own
  const double norm = gone.norm();
  return norm > 0 ? 2 * lambda * space.left * std::abs(gone[size - 1]) / norm : 0;
}

}  // namespace

void ConsistencyProduct::add_block(const PairSet& set, Index b, double scale,
                                   const Vector& v, Vector& into) const {
  Scratch c_scratch, cbar_scratch;
  const FeatureBlock c = set.c.block(b, c_scratch);
  const Delta delta = subtract(c, set.cbar.block(b, cbar_scratch));
  Matrix z, dz, u, Sbar;
  head_.logits(c, theta_, z);
  require_equal_offsets(delta);
  delta_logits(delta, head_, theta_, dz);
  delta_jvp(delta, head_, v, u);
  Vector once, twice;
  for (Index i = 0; i < c.rows; ++i) {
    secant_slope(row_of(z, i), row_of(dz, i), Sbar);
    once.noalias() = Sbar * u.row(i).transpose();
    twice.noalias() = Sbar * once;
    const auto entry = static_cast<std::size_t>(b * kBlockRows + i);
    u.row(i) = -scale * static_cast<double>(set.weight[entry]) * twice.transpose();
  }
  subtract_delta_vjp(delta, head_, u, into);
}

Vector ConsistencyProduct::apply(const Vector& v) const {
  Vector total = Vector::Zero(v.size());
  for (const PairSet& set : pairs_) {
    const double classes = head_.outputs() == 1 ? 2 : 1;
    const double scale =
        classes / (static_cast<double>(pairs_.size()) * set.total_weight());
    total +=
        reduce<Sums>(
            block_count(set.size()), [&] { return Sums{Vector::Zero(v.size())}; },
            [&](Sums& sums, Index b) { add_block(set, b, scale, v, sums.values); }, exec_)
            .values;
  }
  return total;
}

Path krylov_path(const InverseHessian& H, const ConsistencyProduct& G, const Vector& theta0,
                 Index steps, const Exec& exec) {
  Vector pull = first_pull(G, theta0);
  if (!pull.allFinite())
    throw Error(ErrorKind::numerical, "path: the gaps of the pairs are not finite",
                "check the model's parameters and the pairs' features");
  steps = std::min(steps, theta0.size());
  Space space(steps, theta0.size());
  Index size = 0;
  double first = 0, inexact = 0;
  while (pull.squaredNorm() > 0) {
    exec.report("path", size, steps);
    const double before = pull.norm();
    space.take_out(size, pull);
    first = std::max(first, before);
    const bool complete = !(pull.norm() > std::max(kNothing * before, kRounding * first));
    const Vector v = complete ? Vector() : space.solve(H, pull);
    if (complete) space.left = 0;
    inexact = size > 0 ? inexactness(space, size) : 1;
    if (complete || size == steps || inexact <= kExact) break;
    pull = space.add(size++, v, pull, G, theta0);
  }
  Path path = path_of(space, size, theta0);
  path.damping = H.damping();
  path.residual = std::max(inexact, space.solved);
  path.converged = space.converged && inexact <= kExact;
  return path;
}

}  // namespace fmd::internal
