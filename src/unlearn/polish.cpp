#include "unlearn/polish.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "core/sums.h"
#include "fmd/model/loss.h"
#include "model/block_loss.h"
#include "unlearn/pair_check.h"
#include "unlearn/pair_slopes.h"
#include "unlearn/spans.h"

namespace fmd::internal {
namespace {

// Row numbers of at most kPolishRows entries, evenly spaced.
std::vector<Index> some_entries(const Rows& rows) {
  const Index count = std::min(rows.size(), kPolishRows);
  std::vector<Index> numbers;
  numbers.reserve(at(count));
  for (Index i = 0; i < count; ++i) numbers.push_back(rows.row(i * rows.size() / count));
  return numbers;
}

bool counts(const UncountedRows& uncounted, Index row) {
  return uncounted.row.empty() || uncounted.row[at(row)] == 0;
}

// No first above its second: pairs that are out of order meet half way, some times over;
// what is left is settled by raising the second ones.
Vector in_order(Vector theta, std::span<const std::pair<Index, Index>> ordered) {
  constexpr int kSweeps = 100;
  bool moved = true;
  for (int sweep = 0; sweep < kSweeps && moved; ++sweep) {
    moved = false;
    for (const auto& [first, second] : ordered) {
      if (!(theta[first] > theta[second])) continue;
      theta[first] = theta[second] = (theta[first] + theta[second]) / 2;
      moved = true;
    }
  }
  while (moved) {  // ends: a value only takes a larger one of the others
    moved = false;
    for (const auto& [first, second] : ordered) {
      if (!(theta[first] > theta[second])) continue;
      theta[second] = theta[first];
      moved = true;
    }
  }
  return theta;
}

}  // namespace

LeafPolish::LeafPolish(const LinearHead& head, const Rows& rows,
                       std::span<const PairSet> pairs, const Vector& theta0, double l2,
                       const Exec& exec)
    : head_(head), theta0_(theta0), l2_(l2), exec_(exec) {
  require_size("polish", "theta", theta0.size(), head.parameters());
  require_pairs("polish", head, pairs);
  if (head.parameters() != head.inputs() || head.options().intercept)
    throw Error(ErrorKind::unsupported, "polish: this head has more than values of leaves",
                "use it on models of trees");
  const std::vector<Index> numbers = some_entries(rows);
  Rows some = rows;
  some.subset = numbers;
  rows_.resize(at(block_count(some.size())));
  exec.for_each(std::ssize(rows_), [&](Index b) { rows_[at(b)] = make_rows(some, b); });
  for (const PairSet& set : pairs) {
    auto& blocks = pairs_.emplace_back(at(block_count(set.size())));
    exec.for_each(std::ssize(blocks), [&](Index b) { blocks[at(b)] = make_pairs(set, b); });
  }
}

LeafPolish::RowBlock LeafPolish::make_rows(const Rows& rows, Index b) const {
  Scratch scratch;
  const FeatureBlock features = rows.block(b, scratch);
  RowBlock block;
  Matrix z;
  head_.logits(features, theta0_, z);
  block.p.resize(z.rows(), classes_of(z.cols()));
  block_probabilities(z, block.p);
  const Index first = features.start[0];
  for (Index i = 0; i <= features.rows; ++i)
    block.start.push_back(features.start[at(i)] - first);
  const auto entries = at(block.start.back());
  block.column.assign(features.column.begin() + first,
                      features.column.begin() + first + static_cast<Index>(entries));
  if (!features.value.empty())
    block.value.assign(features.value.begin() + first,
                       features.value.begin() + first + static_cast<Index>(entries));
  for (Index i = 0; i < features.rows; ++i) {
    block.number.push_back(rows.row(b * kBlockRows + i));
    block.weight.push_back(rows.weight_of(b * kBlockRows + i));
  }
  return block;
}

LeafPolish::PairBlock LeafPolish::make_pairs(const PairSet& pairs, Index b) const {
  Scratch scratch;
  PairBlock block;
  block.delta = pair_delta(pairs, b);
  require_equal_offsets(block.delta);
  Matrix z, dz, Sbar;
  head_.logits(pairs.c.block(b, scratch), theta0_, z);
  delta_logits(block.delta, head_, theta0_, dz);
  const Index outputs = head_.outputs();
  const double classes = outputs == 1 ? 2 : 1;
  block.square.resize(z.rows(), outputs * outputs);
  for (Index i = 0; i < z.rows(); ++i) {
    secant_slope(row_of(z, i), row_of(dz, i), Sbar);
    const Matrix square = classes * Sbar * Sbar;
    block.square.row(i) =
        Eigen::Map<const Vector>(square.data(), square.size()).transpose();
    const Index entry = b * kBlockRows + i;
    block.number.push_back(pairs.c.row(entry));
    block.weight.push_back(static_cast<double>(pairs.weight[at(entry)]));
  }
  return block;
}

Index LeafPolish::output(Index feature) const {
  const std::vector<std::int32_t>& of = head_.options().output_of;
  return of.empty() ? 0 : of[at(feature)];
}

void LeafPolish::add_rows(const RowBlock& block, const Vector& v, bool diagonal,
                          const UncountedRows& uncounted, Vector& into) const {
  const Index outputs = head_.outputs();
  Vector u(outputs);
  for (std::size_t i = 0; i < block.number.size(); ++i) {
    if (uncounted.of_rows && !counts(uncounted, block.number[i])) continue;
    const auto first = at(block.start[i]), last = at(block.start[i + 1]);
    const auto value = [&](std::size_t e) {
      return block.value.empty() ? 1.0 : static_cast<double>(block.value[e]);
    };
    const double* p = block.p.row(static_cast<Index>(i)).data();
    const double w = block.weight[i];
    if (diagonal) {
      for (std::size_t e = first; e < last; ++e) {
        const double own = p[outputs == 1 ? 1 : output(block.column[e])];
        into[block.column[e]] += w * own * (1 - own) * value(e) * value(e);
      }
      continue;
    }
    u.setZero();
    for (std::size_t e = first; e < last; ++e)
      u[output(block.column[e])] += v[block.column[e]] * value(e);
    if (outputs == 1) {
      u[0] *= w * p[0] * p[1];
    } else {
      double mean = 0;
      for (Index k = 0; k < outputs; ++k) mean += p[k] * u[k];
      for (Index k = 0; k < outputs; ++k) u[k] = w * p[k] * (u[k] - mean);
    }
    for (std::size_t e = first; e < last; ++e)
      into[block.column[e]] += u[output(block.column[e])] * value(e);
  }
}

void LeafPolish::add_pairs(const PairBlock& block, const Vector& v, bool diagonal,
                           const UncountedRows& uncounted, Vector& into) const {
  const Index outputs = head_.outputs();
  Vector u(outputs), pull(outputs);
  for (std::size_t i = 0; i < block.number.size(); ++i) {
    if (!counts(uncounted, block.number[i])) continue;
    const auto row = static_cast<Index>(i);
    const auto square =
        Eigen::Map<const Matrix>(block.square.row(row).data(), outputs, outputs);
    const double w = block.weight[i];
    if (diagonal) {
      block.delta.for_each(row, [&](Index j, double d) {
        into[j] += w * d * d * square(output(j), output(j));
      });
      continue;
    }
    u.setZero();
    block.delta.for_each(row, [&](Index j, double d) { u[output(j)] += d * v[j]; });
    pull.noalias() = w * (square * u);
    block.delta.for_each(row, [&](Index j, double d) { into[j] += d * pull[output(j)]; });
  }
}

Vector LeafPolish::curvature(const Vector& v, bool diagonal,
                             const UncountedRows& uncounted) const {
  Vector sum = reduce<Sums>(
                   std::ssize(rows_), [&] { return Sums{Vector::Zero(theta0_.size())}; },
                   [&](Sums& sums, Index b) {
                     add_rows(rows_[at(b)], v, diagonal, uncounted, sums.values);
                   },
                   exec_)
                   .values;
  Index n = 0;
  for (const RowBlock& block : rows_)
    for (const Index number : block.number)
      n += !uncounted.of_rows || counts(uncounted, number) ? 1 : 0;
  sum /= static_cast<double>(std::max<Index>(n, 1));
  if (diagonal)
    sum.array() += l2_;
  else
    sum += l2_ * v;
  return sum;
}

Vector LeafPolish::consistency(const Vector& v, bool diagonal,
                               const UncountedRows& uncounted) const {
  Vector total = Vector::Zero(theta0_.size());
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    const UncountedRows own = s < uncounted.sets ? uncounted : UncountedRows{};
    double weight = 0;
    for (const PairBlock& block : pairs_[s])
      for (std::size_t i = 0; i < block.number.size(); ++i)
        weight += counts(own, block.number[i]) ? block.weight[i] : 0;
    if (!(weight > 0)) continue;
    total += reduce<Sums>(
                 std::ssize(pairs_[s]), [&] { return Sums{Vector::Zero(total.size())}; },
                 [&](Sums& sums, Index b) {
                   add_pairs(pairs_[s][at(b)], v, diagonal, own, sums.values);
                 },
                 exec_)
                 .values /
             (weight * static_cast<double>(pairs_.size()));
  }
  return total;
}

Vector LeafPolish::gradient(const Vector& theta, double lambda,
                            const UncountedRows& uncounted) const {
  return curvature(theta - theta0_, false, uncounted) +
         2 * lambda * consistency(theta, false, uncounted);
}

Vector LeafPolish::run(const Vector& start, double lambda, Index steps,
                       const UncountedRows& uncounted) const {
  return run(start, lambda, steps, {}, uncounted);
}

Vector LeafPolish::run_ordered(const Vector& start, double lambda,
                               std::span<const std::pair<Index, Index>> ordered,
                               const UncountedRows& uncounted) const {
  constexpr Index kRounds = 8, kSteps = 6;
  const Vector zero = Vector::Zero(start.size());
  const Vector scale =
      curvature(zero, true, uncounted) + 2 * lambda * consistency(zero, true, uncounted);
  Vector theta = start;
  double weight = 1;
  for (Index round = 0; round < kRounds; ++round, weight *= 4) {
    std::vector<Tie> ties;
    for (const auto& [first, second] : ordered)
      if (theta[first] > theta[second])
        ties.push_back({first, second, weight * std::max(scale[first], scale[second])});
    if (ties.empty() && round > 0) break;
    theta = run(theta, lambda, kSteps, ties, uncounted);
  }
  return in_order(std::move(theta), ordered);
}

Vector LeafPolish::run(const Vector& start, double lambda, Index steps,
                       std::span<const Tie> ties, const UncountedRows& uncounted) const {
  require_size("polish", "start", start.size(), theta0_.size());
  require_option(lambda >= 0 && std::isfinite(lambda), "polish", "lambda", lambda, ">= 0");
  Vector pulled = gradient(start, lambda, uncounted);
  pull(ties, start, pulled);
  return start - descend(pulled, lambda, 0, steps, ties, uncounted);
}

Vector LeafPolish::solve(const Vector& b, double lambda, double ridge, Index steps,
                         const UncountedRows& uncounted) const {
  require_size("polish", "b", b.size(), theta0_.size());
  return descend(b, lambda, ridge, steps, {}, uncounted);
}

double LeafPolish::mean_diagonal() const { return curvature(theta0_, true, {}).mean(); }

void LeafPolish::pull(std::span<const Tie> ties, const Vector& v, Vector& into) {
  for (const Tie& tie : ties) {
    const double force = tie.weight * (v[tie.first] - v[tie.second]);
    into[tie.first] += force;
    into[tie.second] -= force;
  }
}

// Conjugate gradients for (H + ridge + 2 lambda G + ties) x = b from x = 0.
Vector LeafPolish::descend(const Vector& b, double lambda, double ridge, Index steps,
                           std::span<const Tie> ties,
                           const UncountedRows& uncounted) const {
  Vector scale = curvature(b, true, uncounted);
  if (lambda > 0) scale += 2 * lambda * consistency(b, true, uncounted);
  scale.array() += ridge;
  for (const Tie& tie : ties) {
    scale[tie.first] += tie.weight;
    scale[tie.second] += tie.weight;
  }
  scale = scale.cwiseInverse().eval();
  Vector x = Vector::Zero(b.size());
  Vector residual = b;
  Vector direction = scale.cwiseProduct(residual);
  double size = residual.dot(direction);
  for (Index step = 0; step < steps && size > 0; ++step) {
    Vector product = curvature(direction, false, uncounted) + ridge * direction;
    if (lambda > 0) product += 2 * lambda * consistency(direction, false, uncounted);
    pull(ties, direction, product);
    const double along = direction.dot(product);
    if (!(along > 0)) break;
    x += size / along * direction;
    residual -= size / along * product;
    const Vector scaled = scale.cwiseProduct(residual);
    const double next = residual.dot(scaled);
    direction = scaled + next / size * direction;
    size = next;
  }
  return x;
}

}  // namespace fmd::internal
