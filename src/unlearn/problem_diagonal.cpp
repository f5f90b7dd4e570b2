#include "fmd/core/accumulator.h"
#include "unlearn/problem.h"
#include "unlearn/slope.h"
#include "unlearn/spans.h"
#include "unlearn/sums.h"

namespace fmd {

// Class k, feature j of a pair's Gauss-Newton matrix: |column k of (D phi_j + Sbar
// delta_j)|^2 for consistency, slopes times squared features on both sides for fit. The two
// parts are summed one after the other in a vector of twice the parameters.
SolveProblem::Diagonal SolveProblem::diagonal(const Point& point) const {
  const Index n = head_.parameters(), outputs = head_.outputs(),
              stride = head_.inputs() + 1;
  Vector total = Vector::Zero(2 * n);
  const auto make = [&] { return empty_sum(2 * n); };
  if (options_.anchor > 0) {
    const auto add = [&](ValueAndVector& state, Index b) {
      Scratch scratch;
      const FeatureBlock block = rows_.block(b, scratch);
      for (Index i = 0; i < block.rows; ++i) {
        const Index entry = b * kBlockRows + i;
        const double w = options_.anchor * rows_.weight_of(entry) / row_weight_;
        for (Index k = 0; k < outputs; ++k) {
          const double p = point.p(entry, k), s = w * p * (1 - p);
          double* into = state.vector.data() + k * stride;
          for_each_entry(block, i, [&](Index j, double x) { into[j] += s * x * x; });
          into[stride - 1] += s;
        }
      }
    };
    total += reduce<ValueAndVector>(block_count(rows_.size()), make, add, exec_).vector;
  }
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    const auto add = [&](ValueAndVector& state, Index b) {
      Scratch scratch;
      Delta spare;
      const FeatureBlock block = pairs_[s].c.block(b, scratch);
      const Delta& d = delta(s, b, spare);
      Matrix D, Sbar;
      Vector pbar(outputs), phi = Vector::Zero(stride), difference = Vector::Zero(stride);
      phi[stride - 1] = 1;
      for (Index i = 0; i < block.rows; ++i) {
        const Index entry = b * kBlockRows + i;
        slope_difference(row_of(point.c[s], entry), row_of(point.difference[s], entry), D);
        pbar = (point.c[s].row(entry) - point.difference[s].row(entry)).transpose();
        slope(all_of(pbar), Sbar);
        phi.head(stride - 1).setZero();
        difference.setZero();
        for_each_entry(block, i, [&](Index j, double x) { phi[j] = x; });
        d.for_each(i, [&](Index j, double x) { difference[j] = x; });
        const double w = pair_weight(s, entry), fit = options_.fit / 2 * w;
        const double pull = 2 * options_.lambda * classes_factor() * w;
        for (Index k = 0; k < outputs; ++k) {
          const double dd = D.col(k).squaredNorm(), ss = Sbar.col(k).squaredNorm();
          const double ds = D.col(k).dot(Sbar.col(k)), sbar = Sbar(k, k),
                       sc = sbar + D(k, k);
          Eigen::Map<Eigen::ArrayXd> hold(state.vector.data() + k * stride, stride);
          Eigen::Map<Eigen::ArrayXd> gap(state.vector.data() + n + k * stride, stride);
          if (fit > 0)
            hold += fit * (sc * phi.array().square() +
                           sbar * (phi - difference).array().square());
          gap += pull *
                 (dd * phi.array().square() + 2 * ds * phi.array() * difference.array() +
                  ss * difference.array().square());
        }
      }
    };
    total += reduce<ValueAndVector>(block_count(pairs_[s].size()), make, add, exec_).vector;
  }
  Diagonal result{.hold = total.head(n), .pull = total.tail(n)};
  result.hold.array() += options_.mu;
  for (std::size_t k = 0; k < options_.gaps.size(); ++k)
    result.pull += 2 * options_.gaps[k].gamma * point.gap_gradient[k].cwiseAbs2();
  return result;
}

}  // namespace fmd
