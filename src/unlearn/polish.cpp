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

template <int K>
void LeafPolish::add_rows(const RowBlock& block, const Lanes<K>& v, bool diagonal,
                          Uncounted uncounted, double* into) const {
  const Index outputs = head_.outputs();
  using Row = Eigen::Matrix<double, 1, K>;
  std::vector<Row> u(at(outputs));
  const auto row_at = [&](Index j) { return Eigen::Map<const Row>(v.data() + j * K); };
  const auto add_at = [&](Index j, const Row& values) {
    Eigen::Map<Row>(into + j * K) += values;
  };
  for (std::size_t i = 0; i < block.number.size(); ++i) {
    Row counted;
    for (int k = 0; k < K; ++k)
      counted[k] =
          !uncounted[at(k)].of_rows || counts(uncounted[at(k)], block.number[i]) ? 1 : 0;
    if (counted.isZero(0)) continue;
    const auto first = at(block.start[i]), last = at(block.start[i + 1]);
    const auto value = [&](std::size_t e) {
      return block.value.empty() ? 1.0 : static_cast<double>(block.value[e]);
    };
    const double* p = block.p.row(static_cast<Index>(i)).data();
    const double w = block.weight[i];
    if (diagonal) {
      for (std::size_t e = first; e < last; ++e) {
        const double own = p[outputs == 1 ? 1 : output(block.column[e])];
        add_at(block.column[e], counted * (w * own * (1 - own) * value(e) * value(e)));
      }
      continue;
    }
    for (Row& one : u) one.setZero();
    for (std::size_t e = first; e < last; ++e)
      u[at(output(block.column[e]))] += row_at(block.column[e]) * value(e);
    if (outputs == 1) {
      u[0] = (u[0] * (w * p[0] * p[1])).cwiseProduct(counted);
    } else {
      Row mean = Row::Zero();
      for (Index k = 0; k < outputs; ++k) mean += p[k] * u[at(k)];
      for (Index k = 0; k < outputs; ++k)
        u[at(k)] = ((w * p[k]) * (u[at(k)] - mean)).cwiseProduct(counted);
    }
    for (std::size_t e = first; e < last; ++e)
      add_at(block.column[e], u[at(output(block.column[e]))] * value(e));
  }
}

template <int K>
void LeafPolish::add_pairs(const PairBlock& block, const Lanes<K>& v, bool diagonal,
                           Uncounted uncounted, double* into) const {
  const Index outputs = head_.outputs();
  using Row = Eigen::Matrix<double, 1, K>;
  std::vector<Row> u(at(outputs)), force(at(outputs));
  for (std::size_t i = 0; i < block.number.size(); ++i) {
    Row counted;
    for (int k = 0; k < K; ++k)
      counted[k] = counts(uncounted[at(k)], block.number[i]) ? 1 : 0;
    if (counted.isZero(0)) continue;
    const auto row = static_cast<Index>(i);
    const double* square = block.square.row(row).data();
    const double w = block.weight[i];
    if (diagonal) {
      block.delta.for_each(row, [&](Index j, double d) {
        const Index k = output(j);
        Eigen::Map<Row>(into + j * K) += counted * (w * d * d * square[k * outputs + k]);
      });
      continue;
    }
    for (Row& one : u) one.setZero();
    block.delta.for_each(row, [&](Index j, double d) {
      u[at(output(j))] += d * Eigen::Map<const Row>(v.data() + j * K);
    });
    for (Index k = 0; k < outputs; ++k) {
      Row& one = force[at(k)];
      one.setZero();
      for (Index l = 0; l < outputs; ++l) one += square[k * outputs + l] * u[at(l)];
      one = (w * one).cwiseProduct(counted);
    }
    block.delta.for_each(row, [&](Index j, double d) {
      Eigen::Map<Row>(into + j * K) += d * force[at(output(j))];
    });
  }
}

template <int K>
LeafPolish::Lanes<K> LeafPolish::curvature(const Lanes<K>& v, bool diagonal,
                                           Uncounted uncounted) const {
  const Sums sums = reduce<Sums>(
      std::ssize(rows_), [&] { return Sums{Vector::Zero(theta0_.size() * K)}; },
      [&](Sums& sum, Index b) {
        add_rows<K>(rows_[at(b)], v, diagonal, uncounted, sum.values.data());
      },
      exec_);
  Lanes<K> sum = Eigen::Map<const Lanes<K>>(sums.values.data(), theta0_.size(), K);
  for (int k = 0; k < K; ++k) {
    Index n = 0;
    for (const RowBlock& block : rows_)
      for (const Index number : block.number)
        n += !uncounted[at(k)].of_rows || counts(uncounted[at(k)], number) ? 1 : 0;
    sum.col(k) /= static_cast<double>(std::max<Index>(n, 1));
  }
  if (diagonal)
    sum.array() += l2_;
  else
    sum += l2_ * v;
  return sum;
}

template <int K>
LeafPolish::Lanes<K> LeafPolish::consistency(const Lanes<K>& v, bool diagonal,
                                             Uncounted uncounted) const {
  Lanes<K> total = Lanes<K>::Zero(theta0_.size(), K);
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    std::vector<UncountedRows> own(at(K));
    Eigen::Matrix<double, 1, K> weight = Eigen::Matrix<double, 1, K>::Zero();
    for (int k = 0; k < K; ++k) {
      if (s < uncounted[at(k)].sets) own[at(k)] = uncounted[at(k)];
      for (const PairBlock& block : pairs_[s])
        for (std::size_t i = 0; i < block.number.size(); ++i)
          weight[k] += counts(own[at(k)], block.number[i]) ? block.weight[i] : 0;
    }
    if (weight.isZero(0)) continue;
    const Sums sums = reduce<Sums>(
        std::ssize(pairs_[s]), [&] { return Sums{Vector::Zero(theta0_.size() * K)}; },
        [&](Sums& sum, Index b) {
          add_pairs<K>(pairs_[s][at(b)], v, diagonal, own, sum.values.data());
        },
        exec_);
    const Eigen::Map<const Lanes<K>> sum(sums.values.data(), theta0_.size(), K);
    for (int k = 0; k < K; ++k)
      if (weight[k] > 0)
        total.col(k) += sum.col(k) / (weight[k] * static_cast<double>(pairs_.size()));
  }
  return total;
}

Vector LeafPolish::gradient(const Vector& theta, double lambda,
                            const UncountedRows& uncounted) const {
  const Uncounted one(&uncounted, 1);
  return curvature<1>(theta - theta0_, false, one) +
         2 * lambda * consistency<1>(theta, false, one);
}

Vector LeafPolish::run(const Vector& start, double lambda, Index steps,
                       const UncountedRows& uncounted) const {
  return run_lanes<1>(start, lambda, steps, {}, {&uncounted, 1});
}

// work(lanes, their uncounted rows) for K vectors at a time. Lanes that are left over
// repeat the last vector.
template <int K, typename Work>
std::vector<Vector> LeafPolish::in_lanes(std::span<const Vector> from, Uncounted uncounted,
                                         const Work& work) const {
  if (uncounted.size() != from.size())
    throw Error(ErrorKind::bad_shape, "polish: rows that do not count, for each start");
  std::vector<Vector> ends;
  for (std::size_t first = 0; first < from.size(); first += at(K)) {
    const std::size_t count = std::min(at(K), from.size() - first);
    Lanes<K> lanes(theta0_.size(), K);
    std::vector<UncountedRows> own;
    for (std::size_t k = 0; k < at(K); ++k) {
      const std::size_t place = first + std::min(k, count - 1);
      require_size("polish", "start", from[place].size(), theta0_.size());
      lanes.col(static_cast<Index>(k)) = from[place];
      own.push_back(uncounted[place]);
    }
    const Lanes<K> end = work(lanes, Uncounted(own));
    for (std::size_t k = 0; k < count; ++k)
      ends.emplace_back(end.col(static_cast<Index>(k)));
  }
  return ends;
}

std::vector<Vector> LeafPolish::run_all(std::span<const Vector> starts, double lambda,
                                        Index steps, Uncounted uncounted) const {
  if (starts.size() == 1)
    return in_lanes<1>(starts, uncounted, [&](const Lanes<1>& start, Uncounted own) {
      return run_lanes<1>(start, lambda, steps, {}, own);
    });
  return in_lanes<8>(starts, uncounted, [&](const Lanes<8>& start, Uncounted own) {
    return run_lanes<8>(start, lambda, steps, {}, own);
  });
}

std::vector<Vector> LeafPolish::solve_all(std::span<const Vector> b, double lambda,
                                          double ridge, Index steps,
                                          Uncounted uncounted) const {
  return in_lanes<8>(b, uncounted, [&](const Lanes<8>& one, Uncounted own) {
    return descend<8>(one, lambda, ridge, steps, {}, own);
  });
}

Vector LeafPolish::run_ordered(const Vector& start, double lambda,
                               std::span<const std::pair<Index, Index>> ordered,
                               const UncountedRows& uncounted) const {
  constexpr Index kRounds = 8, kSteps = 6;
  const Uncounted one(&uncounted, 1);
  const Vector zero = Vector::Zero(start.size());
  const Vector scale =
      curvature<1>(zero, true, one) + 2 * lambda * consistency<1>(zero, true, one);
  Vector theta = start;
  double weight = 1;
  for (Index round = 0; round < kRounds; ++round, weight *= 4) {
    std::vector<Tie> ties;
    for (const auto& [first, second] : ordered)
      if (theta[first] > theta[second])
        ties.push_back({first, second, weight * std::max(scale[first], scale[second])});
    if (ties.empty() && round > 0) break;
    theta = run_lanes<1>(theta, lambda, kSteps, ties, one);
  }
  return in_order(std::move(theta), ordered);
}

template <int K>
LeafPolish::Lanes<K> LeafPolish::run_lanes(const Lanes<K>& start, double lambda,
                                           Index steps, std::span<const Tie> ties,
                                           Uncounted uncounted) const {
  require_size("polish", "start", start.rows(), theta0_.size());
  require_option(lambda >= 0 && std::isfinite(lambda), "polish", "lambda", lambda, ">= 0");
  Lanes<K> moved = start;
  moved.colwise() -= theta0_;
  Lanes<K> pulled = curvature<K>(moved, false, uncounted) +
                    2 * lambda * consistency<K>(start, false, uncounted);
  pull<K>(ties, start, pulled);
  return start - descend<K>(pulled, lambda, 0, steps, ties, uncounted);
}

double LeafPolish::mean_diagonal() const {
  const UncountedRows all;
  return curvature<1>(theta0_, true, {&all, 1}).mean();
}

std::pair<double, double> LeafPolish::diagonal_ratios() const {
  const UncountedRows all;
  const Vector H = curvature<1>(theta0_, true, {&all, 1}),
               G = consistency<1>(theta0_, true, {&all, 1});
  std::vector<double> ratios;
  for (Index j = 0; j < H.size(); ++j)
    if (G[j] > 0 && H[j] > 0) ratios.push_back(G[j] / H[j]);
  if (ratios.empty()) return {1, 1};
  std::sort(ratios.begin(), ratios.end());
  return {ratios.back(), ratios[ratios.size() / 2]};
}

template <int K>
void LeafPolish::pull(std::span<const Tie> ties, const Lanes<K>& v, Lanes<K>& into) {
  for (const Tie& tie : ties) {
    const Eigen::Matrix<double, 1, K> force =
        tie.weight * (v.row(tie.first) - v.row(tie.second));
    into.row(tie.first) += force;
    into.row(tie.second) -= force;
  }
}

// Conjugate gradients for (H + ridge + 2 lambda G + ties) x = b from x = 0, in each lane.
template <int K>
LeafPolish::Lanes<K> LeafPolish::descend(const Lanes<K>& b, double lambda, double ridge,
                                         Index steps, std::span<const Tie> ties,
                                         Uncounted uncounted) const {
  using Row = Eigen::Matrix<double, 1, K>;
  // In the order of the parameters, so that a lane does not depend on how many there are.
  const auto dot = [](const Lanes<K>& x, const Lanes<K>& y) {
    Row sums = Row::Zero();
    for (Index j = 0; j < x.rows(); ++j)
      for (int k = 0; k < K; ++k) sums[k] += x(j, k) * y(j, k);
    return sums;
  };
  Lanes<K> scale = curvature<K>(b, true, uncounted);
  if (lambda > 0) scale += 2 * lambda * consistency<K>(b, true, uncounted);
  scale.array() += ridge;
  for (const Tie& tie : ties) {
    scale.row(tie.first).array() += tie.weight;
    scale.row(tie.second).array() += tie.weight;
  }
  scale = scale.cwiseInverse().eval();
  Lanes<K> x = Lanes<K>::Zero(b.rows(), K);
  Lanes<K> residual = b;
  Lanes<K> direction = scale.cwiseProduct(residual);
  Row size = dot(residual, direction);
  std::vector<char> goes_on(at(K), 1);
  for (Index step = 0; step < steps; ++step) {
    Lanes<K> product = curvature<K>(direction, false, uncounted) + ridge * direction;
    if (lambda > 0) product += 2 * lambda * consistency<K>(direction, false, uncounted);
    pull<K>(ties, direction, product);
    const Row along = dot(direction, product);
    bool any = false;
    for (int k = 0; k < K; ++k) {
      if (!(size[k] > 0) || !(along[k] > 0)) goes_on[at(k)] = 0;
      if (goes_on[at(k)] == 0) continue;
      any = true;
      x.col(k) += size[k] / along[k] * direction.col(k);
      residual.col(k) -= size[k] / along[k] * product.col(k);
    }
    if (!any) break;
    const Lanes<K> scaled = scale.cwiseProduct(residual);
    const Row next = dot(residual, scaled);
    for (int k = 0; k < K; ++k) {
      if (goes_on[at(k)] == 0) continue;
      direction.col(k) = scaled.col(k) + next[k] / size[k] * direction.col(k);
      size[k] = next[k];
    }
  }
  return x;
}

}  // namespace fmd::internal
