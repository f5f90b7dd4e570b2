#include "unlearn/row_pairs.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "unlearn/dense_pairs.h"
#include "unlearn/shared_pairs.h"

namespace fmd::internal {

std::unique_ptr<const RowPairs> RowPairs::make(const LinearHead& head, const Vector& theta0,
                                               const Rows& rows,
                                               std::span<const PairSet> pairs,
                                               bool with_anchor, const Exec& exec) {
  if (!head.whole() || head.outputs() != 1 || pairs.empty()) return nullptr;
  const Features* X = pairs[0].c.X;
  for (const PairSet& set : pairs)
    if (set.c.X != X || set.size() == 0) return nullptr;
  if (with_anchor && rows.X != X) return nullptr;
  // A block tells which kind this is before anything is kept.
  Scratch scratch;
  const FeatureBlock first = pairs[0].c.block(0, scratch);
  if (first.offset != nullptr) return nullptr;
  return first.sparse() ? SharedPairs::make(theta0, rows, pairs, with_anchor, exec)
                        : DensePairs::make(theta0, rows, pairs, with_anchor, exec);
}

PairsByRow::PairsByRow(const Features& X, const Rows& rows, std::span<const PairSet> sets,
                       bool with_anchor) {
  std::vector<Index> place(at(X.rows()), -1);
  const auto number = [&](Index row) {
    if (place[at(row)] < 0) {
      place[at(row)] = std::ssize(source);
      source.push_back(row);
    }
    return place[at(row)];
  };
  Index count = 0;
  for (Index i = 0; with_anchor && i < rows.size(); ++i) (void)number(rows.row(i));
  for (const PairSet& set : sets) {
    for (Index i = 0; i < set.size(); ++i) (void)number(set.c.row(i));
    count += set.size();
  }
  anchor = Vector::Zero(this->rows());
  for (Index i = 0; with_anchor && i < rows.size(); ++i)
    anchor[number(rows.row(i))] += rows.weight_of(i);
  if (with_anchor) anchor /= anchor.sum();
  start.assign(at(this->rows() + 1), 0);
  for (const PairSet& set : sets)
    for (Index i = 0; i < set.size(); ++i) ++start[at(number(set.c.row(i)) + 1)];
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  std::vector<Index> next(start.begin(), start.end() - 1);
  weight.resize(count);
  for (const PairSet& set : sets) {
    const double scale = 1 / (static_cast<double>(sets.size()) * set.total_weight());
    std::vector<Index>& own = to.emplace_back();
    own.reserve(at(set.size()));
    for (Index i = 0; i < set.size(); ++i) {
      own.push_back(next[at(number(set.c.row(i)))]++);
      weight[own.back()] = scale * static_cast<double>(set.weight[at(i)]);
    }
  }
}

// log(1 + p0 (exp(moved) - 1)) - p0 moved. Near 0 its terms cancel: there by the cumulants.
MovedScore::MovedScore(double p0, double moved, double p, double q) {
  const double dz = moved, s = p0 * (1 - p0);
  if (std::abs(dz) > 500) {
    slope = p - p0;
    value =
        dz < 0 ? std::log1p(-p0) - p0 * dz : (1 - p0) * dz + std::log(std::max(p0, 1e-300));
    return;
  }
  const double expm1 = std::expm1(dz);
  slope = expm1 * p0 * q;
  if (std::abs(dz) > 3e-3) {
    value = std::log1p(p0 * expm1) - p0 * dz;
    return;
  }
  const double skew = 1 - 2 * p0, square = dz * dz;
  value = s * square *
          (0.5 + dz * skew / 6 + square * (1 - 6 * s) / 24 +
           square * dz * skew * (1 - 12 * s) / 120 +
           square * square * (1 - 30 * s * (1 - 4 * s)) / 720);
}

}  // namespace fmd::internal
