#include "fmd/core/accumulator.h"
#include "unlearn/problem.h"
#include "unlearn/slope.h"
#include "unlearn/spans.h"
#include "unlearn/sums.h"

namespace fmd {

Vector SolveProblem::pair_product(const Point& point, const Vector& v, std::size_t set,
                                  double hold_scale, bool exact) const {
  const Index outputs = head_.outputs();
  const auto add = [&](ValueAndVector& state, Index b) {
    Scratch scratch;
    Delta spare;
    const FeatureBlock block = pairs_[set].c.block(b, scratch);
    const Delta& d = delta(set, b, spare);
    Matrix u, du;
    head_.jvp(block, point.theta, {}, v, u);
    delta_logits(d, outputs, v, du);
    Vector pbar(outputs), ubar(outputs), r(outputs), rbar(outputs), h(outputs),
        hbar(outputs);
    for (Index i = 0; i < block.rows; ++i) {
      const Index entry = b * kBlockRows + i;
      const auto p = row_of(point.c[set], entry);
      pbar = (point.c[set].row(entry) - point.difference[set].row(entry)).transpose();
      ubar = (u.row(i) - du.row(i)).transpose();
      apply_slope(p, row_of(u, i), all_of(r));
      apply_slope(all_of(pbar), all_of(ubar), all_of(rbar));
      const double w = pair_weight(set, entry);
      const double fit = hold_scale * options_.fit / 2 * w;
      const double pull = 2 * options_.lambda * classes_factor() * w;
      u.row(i) = fit * (r + rbar).transpose();
      du.row(i) = fit * rbar.transpose();
      if (exact) {
        const auto gap = row_of(point.difference[set], entry);
        apply_slope_change(p, all_of(r), gap, all_of(h));
        apply_slope_change(all_of(pbar), all_of(rbar), gap, all_of(hbar));
        u.row(i) += pull * (h - hbar).transpose();
        du.row(i) -= pull * hbar.transpose();
      }
      r -= rbar;
      apply_slope(p, all_of(r), all_of(h));
      apply_slope(all_of(pbar), all_of(r), all_of(hbar));
      u.row(i) += pull * (h - hbar).transpose();
      du.row(i) -= pull * hbar.transpose();
    }
    head_.vjp(block, point.theta, {}, u, state.vector);
    subtract_delta_vjp(d, du, state.vector);
  };
  return reduce<ValueAndVector>(
             block_count(pairs_[set].size()), [&] { return empty_sum(head_.parameters()); },
             add, exec_)
      .vector;
}

Vector SolveProblem::product(const Point& point, const Vector& v, double hold_scale,
                             bool exact) const {
  Vector result = hold_scale * options_.mu * v;
  if (options_.anchor > 0) {
    const auto add = [&](ValueAndVector& state, Index b) {
      Scratch scratch;
      const FeatureBlock block = rows_.block(b, scratch);
      Matrix u;
      head_.jvp(block, point.theta, {}, v, u);
      Vector r(u.cols());
      for (Index i = 0; i < block.rows; ++i) {
        const Index entry = b * kBlockRows + i;
        apply_slope(row_of(point.p, entry), row_of(u, i), all_of(r));
        u.row(i) = options_.anchor * rows_.weight_of(entry) / row_weight_ * r.transpose();
      }
      head_.vjp(block, point.theta, {}, u, state.vector);
    };
    result += hold_scale * reduce<ValueAndVector>(
                               block_count(rows_.size()),
                               [&] { return empty_sum(head_.parameters()); }, add, exec_)
                               .vector;
  }
  for (std::size_t s = 0; s < pairs_.size(); ++s)
    result += pair_product(point, v, s, hold_scale, exact);
  for (std::size_t k = 0; k < options_.gaps.size(); ++k) {
    const Vector& g = point.gap_gradient[k];
    result += 2 * options_.gaps[k].gamma * g.dot(v) * g;
  }
  return result;
}

}  // namespace fmd
