#include "unlearn/problem.h"

#include <algorithm>
#include <cmath>

#include "fmd/core/accumulator.h"
#include "unlearn/slope.h"
#include "unlearn/spans.h"
#include "unlearn/sums.h"

namespace fmd {
namespace {

// Differences of pairs are kept between passes up to this many numbers.
constexpr Index kKeep = Index{1} << 25;

// exp(e) - 1 - e, given exp(e) - 1.
double exp_excess(double e, double expm1) {
  return std::abs(e) < 1e-5 ? e * e * (0.5 + e / 6) : expm1 - e;
}

// KL(old || p) where p's logits are old's plus dz; writes p and p - old. Formed from dz
// alone, so that a small divergence keeps its digits. dz is overwritten.
double divergence(std::span<const double> old, std::span<double> dz, std::span<double> p,
                  std::span<double> change) {
  double mean = 0, widest = 0;
  for (std::size_t k = 0; k < old.size(); ++k) mean += old[k] * dz[k];
  for (double& e : dz) {
    e -= mean;
    widest = std::max(widest, std::abs(e));
  }
  if (widest < 30) {
    double excess = 0;
    for (std::size_t k = 0; k < old.size(); ++k) {
      change[k] = std::expm1(dz[k]);
      excess += old[k] * exp_excess(dz[k], change[k]);
    }
    for (std::size_t k = 0; k < old.size(); ++k) {
      change[k] = old[k] * (change[k] - excess) / (1 + excess);
      p[k] = old[k] + change[k];
    }
    return std::log1p(excess);
  }
  const double top = *std::max_element(dz.begin(), dz.end());
  double sum = 0;
  for (std::size_t k = 0; k < old.size(); ++k) sum += old[k] * std::exp(dz[k] - top);
  const double kl = top + std::log(sum);
  for (std::size_t k = 0; k < old.size(); ++k) {
    p[k] = old[k] == 0 ? 0 : old[k] * std::exp(dz[k] - kl);
    change[k] = p[k] - old[k];
  }
  return kl;
}

}  // namespace

SolveProblem::SolveProblem(const LinearHead& head, const Vector& theta0, const Rows& rows,
                           std::span<const PairSet> pairs, const SolveOptions& options,
                           const Exec& exec)
    : head_(head),
      theta0_(theta0),
      rows_(rows),
      pairs_(pairs),
      options_(options),
      exec_(exec),
      deltas_(pairs.size()) {
  if (options.anchor > 0) {
    for (Index i = 0; i < rows.size(); ++i) row_weight_ += rows.weight_of(i);
    p_old_ = all_probabilities(head, rows, theta0, exec);
  }
  for (std::size_t s = 0; s < pairs.size(); ++s) {
    const Index blocks = block_count(pairs[s].size());
    pair_total_.push_back(pairs[s].total_weight());
    const Delta first = pair_delta(pairs[s], 0);
    if (!first.sparse && pairs[s].size() * first.cols > kKeep) continue;
    deltas_[s].resize(static_cast<std::size_t>(blocks));
    exec.for_each(blocks, [&](Index b) {
      deltas_[s][static_cast<std::size_t>(b)] = pair_delta(pairs[s], b);
    });
  }
}

const Delta& SolveProblem::delta(std::size_t set, Index b, Delta& spare) const {
  if (!deltas_[set].empty()) return deltas_[set][static_cast<std::size_t>(b)];
  return spare = pair_delta(pairs_[set], b);
}

double SolveProblem::pair_weight(std::size_t set, Index entry) const {
  return static_cast<double>(pairs_[set].weight[static_cast<std::size_t>(entry)]) /
         (static_cast<double>(pairs_.size()) * pair_total_[set]);
}

SolveProblem::Point SolveProblem::at(const Vector& theta) const {
  const Vector change = theta - theta0_;
  Point point{.theta = theta,
              .value = options_.mu / 2 * change.squaredNorm(),
              .gradient = options_.mu * change,
              .p = {},
              .c = {},
              .difference = {},
              .gap_gradient = {}};
  if (options_.anchor > 0) add_rows(point);
  for (std::size_t s = 0; s < pairs_.size(); ++s) add_pairs(point, s);
  add_gaps(point);
  return point;
}

void SolveProblem::add_rows(Point& point) const {
  const Index outputs = head_.outputs(), classes = p_old_.cols();
  point.p.resize(rows_.size(), outputs);
  const Vector change = point.theta - theta0_;
  const auto sum = reduce<ValueAndVector>(
      block_count(rows_.size()), [&] { return empty_sum(head_.parameters()); },
      [&](ValueAndVector& state, Index b) {
        Scratch scratch;
        const FeatureBlock block = rows_.block(b, scratch);
        Matrix dz;
        head_.logits(block, change, dz);
        Vector e(classes), p(classes), dp(classes);
        for (Index i = 0; i < block.rows; ++i) {
          const Index entry = b * kBlockRows + i;
          e[0] = 0;
          e.tail(outputs) = dz.row(i).transpose();  // a sigmoid's class 0 has logit 0
          const double kl =
              divergence(row_of(p_old_, entry), all_of(e), all_of(p), all_of(dp));
          const double w = options_.anchor * rows_.weight_of(entry) / row_weight_;
          state.value += w * kl;
          point.p.row(entry) = p.tail(outputs).transpose();
          dz.row(i) = w * dp.tail(outputs).transpose();
        }
        head_.vjp(block, point.theta, {}, dz, state.vector);
      },
      exec_);
  point.value += sum.value;
  point.gradient += sum.vector;
}

void SolveProblem::add_pairs(Point& point, std::size_t set) const {
  const PairSet& pairs = pairs_[set];
  point.c.emplace_back(pairs.size(), head_.outputs());
  point.difference.emplace_back(pairs.size(), head_.outputs());
  const auto sum = reduce<ValueAndVector>(
      block_count(pairs.size()), [&] { return empty_sum(head_.parameters()); },
      [&](ValueAndVector& state, Index b) {
        pair_block(point, set, b, state.value, state.vector);
      },
      exec_);
  point.value += sum.value;
  point.gradient += sum.vector;
}

void SolveProblem::pair_block(Point& point, std::size_t set, Index b, double& value,
                              Vector& gradient) const {
  Scratch scratch;
  Delta spare;
  const FeatureBlock block = pairs_[set].c.block(b, scratch);
  const Delta& d = delta(set, b, spare);
  const Index outputs = head_.outputs();
  Matrix z, dz;
  head_.logits(block, point.theta, z);
  delta_logits(d, outputs, point.theta, dz);
  Vector pbar(outputs), zbar(outputs), slope_c(outputs), slope_bar(outputs);
  for (Index i = 0; i < block.rows; ++i) {
    const Index entry = b * kBlockRows + i;
    const auto p = row_of(point.c[set], entry), dp = row_of(point.difference[set], entry);
    pair_scores(row_of(z, i), row_of(dz, i), p, dp);
    const Eigen::Map<const Vector> p_row(p.data(), outputs), dp_row(dp.data(), outputs);
    pbar = p_row - dp_row;
    zbar = (z.row(i) - dz.row(i)).transpose();
    const double w = pair_weight(set, entry);
    const double pull = options_.lambda * classes_factor() * w, fit = options_.fit / 2 * w;
    value += pull * dp_row.squaredNorm();
    apply_slope(p, dp, all_of(slope_c));
    apply_slope(all_of(pbar), dp, all_of(slope_bar));
    slope_c *= 2 * pull;
    slope_bar *= -2 * pull;
    if (fit > 0) {
      const std::int32_t y = pairs_[set].c.label(entry);
      value += fit * (log_loss(row_of(z, i), y) + log_loss(all_of(zbar), y));
      slope_c += fit * p_row;
      slope_bar += fit * pbar;
      const Index own = outputs == 1 ? 0 : y;
      const double hit = outputs == 1 ? fit * y : fit;
      slope_c[own] -= hit;
      slope_bar[own] -= hit;
    }
    // J^T h of both sides: phi(cbar) = phi(c) - delta.
    z.row(i) = (slope_c + slope_bar).transpose();
    dz.row(i) = slope_bar.transpose();
  }
  head_.vjp(block, point.theta, {}, z, gradient);
  subtract_delta_vjp(d, dz, gradient);
}

void SolveProblem::add_gaps(Point& point) const {
  for (const GapPenalty& gap : options_.gaps) {
    const auto value =
        evaluate(*gap.measure, {.pairs = nullptr, .rows = rows_, .group = gap.group}, head_,
                 point.theta, true, exec_);
    point.value += gap.gamma * value.value * value.value;
    point.gradient += 2 * gap.gamma * value.value * value.gradient;
    point.gap_gradient.push_back(value.gradient);
  }
}

}  // namespace fmd
