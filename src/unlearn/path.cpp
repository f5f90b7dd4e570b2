#include "fmd/unlearn/path.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "fmd/core/accumulator.h"
#include "fmd/curvature/generalised_eigen.h"
#include "fmd/curvature/hessian.h"
#include "fmd/curvature/inverse_hessian.h"
#include "unlearn/delta.h"
#include "unlearn/krylov_path.h"
#include "unlearn/pair_check.h"
#include "unlearn/pair_outer.h"
#include "unlearn/pair_slopes.h"
#include "unlearn/spans.h"

namespace fmd {
namespace {

// Eigenvalues below this share of the largest one are rounding.
constexpr double kNoise = 1e-12;

// Of the solves of a large head. Each solve makes one direction: an error there is an error
// of the whole path.
constexpr double kSolveResidual = 1e-11;

// Adds scale w_i Sbar^2 (x) delta delta^T (one output: 2 sbar^2) of one block of pairs.
void add_block(const LinearHead& head, const PairSet& pairs, const Vector& theta,
               double scale, Index b, PairOuterSum& sum) {
  Scratch c_scratch, cbar_scratch;
  const FeatureBlock c = pairs.c.block(b, c_scratch);
  const Delta delta = subtract(c, pairs.cbar.block(b, cbar_scratch));
  Matrix z, dz, Sbar, square;
  head.logits(c, theta, z);
  require_equal_offsets(delta);
  delta_logits(delta, head, theta, dz);
  const double factor = head.outputs() == 1 ? 2 * scale : scale;
  PairWeights weights;
  for (Index first = 0; first < c.rows; first += kPairChunk) {
    const Index rows = std::min(kPairChunk, c.rows - first);
    weights.delta_delta.resize(rows, class_pairs(head.outputs()));
    for (Index i = 0; i < rows; ++i) {
      secant_slope(row_of(z, first + i), row_of(dz, first + i), Sbar);
      square.noalias() = Sbar * Sbar;
      const auto entry = static_cast<std::size_t>(b * kBlockRows + first + i);
      const double w = factor * static_cast<double>(pairs.weight[entry]);
      if (head.outputs() == 1) weights.delta_delta(i, 0) = w * square(0, 0);
      for (Index k = 1, pair = 0; k < head.outputs(); ++k)
        for (Index l = 0; l < k; ++l, ++pair)
          weights.delta_delta(i, pair) = w * square(k, l);
    }
    sum.add(c, delta, first, weights);
  }
}

// The smallest and largest g of the directions that make up the gaps at theta0. These are
// all directions except the weakest, which together hold 1e-14 of the mean squared gap
// sum_j g_j coefficient_j^2.
std::pair<double, double> range_that_matters(const Path& path) {
  const Index n = path.g.size();
  const double g_max = n == 0 ? 0 : path.g[n - 1];
  if (!(g_max > 0)) return {0.5, 0.5};
  Index first = 0;
  while (path.g[first] <= 1e-9 * g_max) ++first;
  const auto gap = [&](Index j) {
    return path.g[j] * path.coefficient[j] * path.coefficient[j];
  };
  double total = 0;
  for (Index j = first; j < n; ++j) total += gap(j);
  if (!(total > 0)) return {path.g[first], g_max};
  double seen = 0;
  Index low = first, high = n - 1;
  while (low < high && (seen += gap(low)) <= 1e-14 * total) ++low;
  while (high > low && gap(high) <= 1e-14 * total) --high;
  return {path.g[low], path.g[high]};
}

}  // namespace

Matrix consistency_matrix(const LinearHead& head, std::span<const PairSet> pairs,
                          const Vector& theta, const Exec& exec) {
  require_size("consistency_matrix", "theta", theta.size(), head.parameters());
  require_pairs("consistency_matrix", head, pairs);
  require_loss(head, "consistency_matrix");
  Matrix G = Matrix::Zero(head.parameters(), head.parameters());
  for (const PairSet& set : pairs) {
    const double scale = 1 / (static_cast<double>(pairs.size()) * set.total_weight());
    const auto sum = reduce<PairOuterSum>(
        block_count(set.size()),
        [&] { return PairOuterSum(head.inputs(), head.outputs()); },
        [&](PairOuterSum& state, Index b) { add_block(head, set, theta, scale, b, state); },
        exec);
    G += head.shrink_both(sum.matrix());
  }
  return G;
}

Vector Path::theta(double lambda) const {
  require_option(lambda >= 0, "path", "lambda", lambda, ">= 0");
  // theta0 minus what is taken out is exact at lambda = 0; the sum of what is kept is not.
  Index first = 0;
  while (first < g.size() && g[first] == 0) ++first;
  const Index count = g.size() - first;
  Vector gone(count);
  for (Index j = 0; j < count; ++j) {
    const double pull = 2 * lambda * g[first + j];
    gone[j] = coefficient[first + j] * (std::isinf(pull) ? 1.0 : pull / (1 + pull));
  }
  return theta0 - U.rightCols(count) * gone;
}

Path make_path(const Matrix& H, const Matrix& G, const Vector& theta0) {
  const Index n = theta0.size();
  for (const Matrix* m : {&H, &G}) {
    require_size("make_path", m == &H ? "a column of H" : "a column of G", m->rows(), n);
    require_size("make_path", m == &H ? "a row of H" : "a row of G", m->cols(), n);
  }
  if (!G.allFinite() || !theta0.allFinite())
    throw Error(ErrorKind::numerical, "make_path: G or theta0 is not finite",
                "check the model's parameters and the pairs' features");
  const auto inverse = make_cholesky(H);
  Path path;
  path.theta0 = theta0;
  path.damping = inverse->damping();
  Matrix damped = H;
  damped.diagonal().array() += path.damping;
  const Vector force = damped * theta0;
  path.rcond = inverse->apply(force).summary.rcond;
  auto eigen = generalised_eigen(G, damped);
  path.g = std::move(eigen.values);
  path.U = std::move(eigen.vectors);
  path.coefficient = path.U.transpose() * force;
  const double noise = n == 0 ? 0 : kNoise * std::max(path.g[n - 1], 0.0);
  for (Index j = 0; j < n; ++j)
    if (path.g[j] <= noise) path.g[j] = 0;
  return path;
}

Path make_path(const LinearHead& head, const Rows& rows, std::span<const PairSet> pairs,
               const Vector& theta0, const PathOptions& options, const Exec& exec) {
  require_option(options.max_directions >= 1, "make_path", "max_directions",
                 options.max_directions, ">= 1");
  if (head.parameters() <= options.max_dense)
    return make_path(hessian(head, rows, theta0, {.l2 = options.l2}, exec),
                     consistency_matrix(head, pairs, theta0, exec), theta0);
  require_pairs("make_path", head, pairs);
  const auto H = make_inverse_hessian(head, rows, theta0,
                                      {.solver = Solver::cg,
                                       .l2 = options.l2,
                                       .tolerance = kSolveResidual,
                                       .max_dense = options.max_dense},
                                      exec);
  return krylov_path(*H, ConsistencyProduct(head, pairs, theta0, exec), theta0,
                     options.max_directions, exec);
}

std::vector<double> path_lambdas(const Path& path, Index points) {
  require_option(points >= 1, "path_lambdas", "points", points, ">= 1");
  const auto [g_low, g_high] = range_that_matters(path);
  const double bottom = std::log(1e-2 / (2 * g_high));
  const double top = std::log(1e7 / (2 * g_low));
  std::vector<double> lambdas;
  for (Index i = 0; i < points; ++i) {
    const double t =
        points == 1 ? 1 : static_cast<double>(i) / static_cast<double>(points - 1);
    lambdas.push_back(std::exp(bottom + t * (top - bottom)));
  }
  return lambdas;
}

}  // namespace fmd
