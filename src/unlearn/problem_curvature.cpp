#include <algorithm>

#include "fmd/core/accumulator.h"
#include "fmd/curvature/hessian.h"
#include "unlearn/pair_outer.h"
#include "unlearn/problem.h"
#include "unlearn/slope.h"
#include "unlearn/spans.h"

namespace fmd {
namespace {

// The class matrices of one pair (see PairOuterSum). With a = D phi + Sbar delta, the
// derivative of p(c) - p(cbar), consistency adds a^T a; fit adds S phi phi^T on both sides.
class PairMatrices {
 public:
  Matrix phi_phi, phi_delta, delta_delta;  // delta_phi = phi_delta^T

  void set(std::span<const double> p, std::span<const double> dp, double fit, double pull) {
    const auto n = static_cast<Index>(p.size());
    slope_difference(p, dp, D_);
    pbar_.resize(n);
    for (Index k = 0; k < n; ++k)
      pbar_[k] = p[static_cast<std::size_t>(k)] - dp[static_cast<std::size_t>(k)];
    slope(all_of(pbar_), Sbar_);
    phi_phi.noalias() = pull * D_ * D_;
    phi_delta.noalias() = pull * D_ * Sbar_;
    delta_delta.noalias() = pull * Sbar_ * Sbar_;
    if (fit == 0) return;
    phi_phi += fit * (2 * Sbar_ + D_);
    phi_delta -= fit * Sbar_;
    delta_delta += fit * Sbar_;
  }

 private:
  Matrix D_, Sbar_;
  Vector pbar_;
};

// One output: the same without matrices.
void set_weights(double p, double dp, double fit, double pull, Index i,
                 PairWeights& weights) {
  const double pbar = p - dp, slope = pbar * (1 - pbar), change = dp * (1 - p - pbar);
  weights.phi_phi(i, 0) = pull * change * change + fit * (2 * slope + change);
  weights.phi_delta(i, 0) = pull * change * slope - fit * slope;
  weights.delta_phi(i, 0) = weights.phi_delta(i, 0);
  weights.delta_delta(i, 0) = pull * slope * slope + fit * slope;
}

void set_weights(const PairMatrices& m, Index i, PairWeights& weights) {
  for (Index k = 1, pair = 0; k < m.phi_phi.rows(); ++k)
    for (Index l = 0; l < k; ++l, ++pair) {
      weights.phi_phi(i, pair) = m.phi_phi(k, l);
      weights.phi_delta(i, pair) = m.phi_delta(k, l);
      weights.delta_phi(i, pair) = m.phi_delta(l, k);
      weights.delta_delta(i, pair) = m.delta_delta(k, l);
    }
}

}  // namespace

Matrix SolveProblem::pair_curvature(const Point& point, double fit, double lambda) const {
  const Index outputs = head_.outputs(), pairs = class_pairs(outputs);
  Matrix total = Matrix::Zero(head_.parameters(), head_.parameters());
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    const auto add = [&](PairOuterSum& state, Index b) {
      Scratch scratch;
      Delta spare;
      const FeatureBlock block = pairs_[s].c.block(b, scratch);
      const Delta& d = delta(s, b, spare);
      PairMatrices matrices;
      PairWeights weights;
      for (Index first = 0; first < block.rows; first += kPairChunk) {
        const Index rows = std::min(kPairChunk, block.rows - first);
        for (Matrix* m : {&weights.phi_phi, &weights.phi_delta, &weights.delta_phi,
                          &weights.delta_delta})
          m->resize(rows, pairs);
        for (Index i = 0; i < rows; ++i) {
          const Index entry = b * kBlockRows + first + i;
          const auto p = row_of(point.c[s], entry), dp = row_of(point.difference[s], entry);
          const double w = pair_weight(s, entry);
          const double pull = 2 * lambda * classes_factor() * w;
          if (outputs == 1) {
            set_weights(p[0], dp[0], fit / 2 * w, pull, i, weights);
          } else {
            matrices.set(p, dp, fit / 2 * w, pull);
            set_weights(matrices, i, weights);
          }
        }
        state.add(block, d, first, weights);
      }
    };
    total += reduce<PairOuterSum>(
                 block_count(pairs_[s].size()),
                 [&] { return PairOuterSum(head_.inputs(), outputs); }, add, exec_)
                 .matrix();
  }
  return total;
}

SolveProblem::Curvature SolveProblem::curvature(const Point& point) const {
  const Index n = head_.parameters();
  Curvature result{.hold = Matrix::Zero(n, n), .pull = {}};
  if (options_.anchor > 0)
    result.hold = options_.anchor *
                  hessian(*linear_, rows_, point.theta,
                          {.l2 = 0, .rows_in_mean = row_weight_, .gauge = false}, exec_);
  if (options_.fit > 0) result.hold += pair_curvature(point, options_.fit, 0);
  result.hold.diagonal().array() += options_.mu;
  result.pull =
      options_.lambda > 0 ? pair_curvature(point, 0, options_.lambda) : Matrix::Zero(n, n);
  for (std::size_t k = 0; k < options_.gaps.size(); ++k) {
    const Vector& g = point.gap_gradient[k];
    result.pull.noalias() += 2 * options_.gaps[k].gamma * g * g.transpose();
  }
  return result;
}

}  // namespace fmd
