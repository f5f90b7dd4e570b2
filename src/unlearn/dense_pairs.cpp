#include "unlearn/dense_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/index.h"
#include "core/lapack.h"
#include "core/sums.h"
#include "core/value_and_vector.h"
#include "fmd/core/accumulator.h"
#include "fmd/curvature/weighted_outer.h"
#include "model/kernels.h"

namespace fmd::internal {
namespace {

// Most numbers that are kept.
constexpr Index kMostFloats = Index{1} << 26;
// Rows that are handled together with their pairs, so that both passes over their features
// find them in the cache.
constexpr Index kChunkRows = 64;
// Pairs in one SYRK.
constexpr Index kTilePairs = 256;

bool copy_row(const FeatureBlock& block, Index i, float* to) {
  std::memcpy(to, block.dense + i * block.cols,
              static_cast<std::size_t>(block.cols) * sizeof(float));
  return true;
}

}  // namespace

// Some rows, their pairs, and memory for their numbers.
struct DensePairs::Chunk {
  Index first = 0, rows = 0, first_pair = 0, pairs = 0;
  Vector z, p, q, zbar, pbar, qbar;  // or products with a direction
  Vector h, hbar;                    // slopes of both sides
};

std::unique_ptr<const RowPairs> DensePairs::make(const Vector& theta0, const Rows& rows,
                                                 std::span<const PairSet> pairs,
                                                 bool with_anchor, const Exec& exec) {
  const Features& X = *pairs[0].c.X;
  const Index d = X.cols();
  Index count = 0;
  for (const PairSet& set : pairs) count += set.size();
  if ((count + (with_anchor ? rows.size() : 0)) * std::max<Index>(d, 1) > kMostFloats)
    return nullptr;
  std::unique_ptr<DensePairs> made(
      new DensePairs(PairsByRow(X, rows, pairs, with_anchor), d, exec));
  const PairsByRow& of = made->of_;
  made->x_.resize(at(of.rows() * d));
  made->bar_.resize(at(of.pairs() * d));
  const auto dense = [](const FeatureBlock& block) {
    return !block.sparse() && block.offset == nullptr;
  };
  Scratch scratch;
  for (Index first = 0; first < of.rows(); first += kBlockRows) {
    const Index size = std::min(kBlockRows, of.rows() - first);
    const FeatureBlock block =
        X.gather(std::span(of.source).subspan(at(first), at(size)), scratch);
    if (!dense(block)) return nullptr;
    for (Index i = 0; i < size; ++i) copy_row(block, i, made->x_.data() + (first + i) * d);
  }
  for (std::size_t s = 0; s < pairs.size(); ++s)
    for (Index b = 0; b < block_count(pairs[s].size()); ++b) {
      const FeatureBlock block = pairs[s].cbar.block(b, scratch);
      if (!dense(block)) return nullptr;
      for (Index i = 0; i < block.rows; ++i)
        copy_row(block, i, made->bar_.data() + of.to[s][at(b * kBlockRows + i)] * d);
    }
  made->theta0_ = theta0;
  Vector z(of.rows()), q(of.rows());
  made->p0_.resize(of.rows());
  kernels::dense_logits(made->x_.data(), of.rows(), d, theta0.data(), 1, z.data());
  kernels::sigmoid(z.data(), of.rows(), made->p0_.data(), q.data());
  return made;
}

// into += what body(chunk, value) leaves as slopes, times the features of both sides.
template <typename Body>
double DensePairs::sum(Vector& into, const Body& body) const {
  const auto all = reduce<ValueAndVector>(
      block_count(of_.rows()), [&] { return empty_sum(inputs_ + 1); },
      [&](ValueAndVector& state, Index b) {
        const Index last = std::min(of_.rows(), (b + 1) * kBlockRows);
        Chunk chunk;
        for (Index first = b * kBlockRows; first < last; first += kChunkRows) {
          chunk.first = first;
          chunk.rows = std::min(kChunkRows, last - first);
          chunk.first_pair = of_.start[at(first)];
          chunk.pairs = of_.start[at(first + chunk.rows)] - chunk.first_pair;
          for (Vector* v : {&chunk.z, &chunk.p, &chunk.q, &chunk.h}) v->resize(chunk.rows);
          for (Vector* v : {&chunk.zbar, &chunk.pbar, &chunk.qbar, &chunk.hbar})
            v->resize(chunk.pairs);
          body(chunk, state.value);
          kernels::dense_vjp(x_.data() + first * inputs_, chunk.rows, inputs_,
                             chunk.h.data(), 1, state.vector.data());
          kernels::dense_vjp(bar_.data() + chunk.first_pair * inputs_, chunk.pairs, inputs_,
                             chunk.hbar.data(), 1, state.vector.data());
        }
      },
      exec_);
  into += all.vector;
  return all.value;
}

double DensePairs::evaluate(const Vector& theta, double anchor, double lambda,
                            Vector& gradient, Scores& scores) const {
  const Vector change = theta - theta0_;
  scores.p.resize(of_.rows());
  scores.dp.resize(of_.pairs());
  return sum(gradient, [&](Chunk& c, double& value) {
    const float* x = x_.data() + c.first * inputs_;
    const float* bar = bar_.data() + c.first_pair * inputs_;
    kernels::dense_logits(x, c.rows, inputs_, theta.data(), 1, c.z.data());
    kernels::sigmoid(c.z.data(), c.rows, c.p.data(), c.q.data());
    kernels::dense_logits(bar, c.pairs, inputs_, theta.data(), 1, c.zbar.data());
    kernels::sigmoid(c.zbar.data(), c.pairs, c.pbar.data(), c.qbar.data());
    kernels::dense_logits(x, c.rows, inputs_, change.data(), 1, c.h.data());
    for (Index i = 0; i < c.rows; ++i) {
      const double p = c.p[i], q = c.q[i], moved = c.h[i];
      double h = 0;
      if (const double w = anchor * of_.anchor[c.first + i]; w > 0) {
        const MovedScore score(p0_[c.first + i], moved, p, q);
        value += w * score.value;
        h = w * score.slope;
      }
      scores.p[c.first + i] = p;
      double squares = 0, pulled = 0;
      for (Index k = of_.start[at(c.first + i)]; k < of_.start[at(c.first + i + 1)]; ++k) {
        const Index j = k - c.first_pair;
        // The smaller numbers keep their digits.
        const double dp = p > 0.5 ? c.qbar[j] - q : p - c.pbar[j];
        const double pull = of_.weight[k] * dp;
        scores.dp[k] = dp;
        squares += pull * dp;
        pulled += pull;
        c.hbar[j] = -4 * lambda * pull * c.pbar[j] * c.qbar[j];
      }
      value += 2 * lambda * squares;
      c.h[i] = h + 4 * lambda * pulled * p * q;
    }
  });
}

Vector DensePairs::product(const Scores& scores, const Vector& v, double anchor,
                           double lambda, bool exact) const {
  const double bent = exact ? 1 : 0;
  Vector result = Vector::Zero(inputs_ + 1);
  (void)sum(result, [&](Chunk& c, double&) {
    kernels::dense_logits(x_.data() + c.first * inputs_, c.rows, inputs_, v.data(), 1,
                          c.z.data());
    kernels::dense_logits(bar_.data() + c.first_pair * inputs_, c.pairs, inputs_, v.data(),
                          1, c.zbar.data());
    for (Index i = 0; i < c.rows; ++i) {
      const double p = scores.p[c.first + i], s = p * (1 - p), r = s * c.z[i];
      double h = anchor * of_.anchor[c.first + i] * r;
      for (Index k = of_.start[at(c.first + i)]; k < of_.start[at(c.first + i + 1)]; ++k) {
        const Index j = k - c.first_pair;
        const double dp = scores.dp[k], pbar = p - dp, sbar = pbar * (1 - pbar);
        const double rbar = sbar * c.zbar[j], fall = r - rbar;
        const double w = 4 * lambda * of_.weight[k];
        h += w * (s * fall + bent * r * (1 - 2 * p) * dp);
        c.hbar[j] = -w * (sbar * fall + bent * rbar * (1 - 2 * pbar) * dp);
      }
      c.h[i] = h;
    }
  });
  return result;
}

// hold: slopes times x x^T. pull: a pair adds a a^T, a = s x - s_bar xbar, the derivative
// of p(c) - p(cbar).
void DensePairs::add_curvature(const Scores& scores, Index b, double anchor, double lambda,
                               Vector& sums) const {
  const Index size = inputs_ + 1, first = b * kBlockRows;
  const Index rows = std::min(kBlockRows, of_.rows() - first);
  Eigen::Map<Matrix> hold(sums.data(), size, size);
  std::vector<double> weight(at(rows));
  for (Index i = 0; i < rows; ++i) {
    const double p = scores.p[first + i];
    weight[at(i)] = anchor * of_.anchor[first + i] * p * (1 - p);
  }
  const FeatureBlock block{.first = first,
                           .rows = rows,
                           .cols = inputs_,
                           .dense = x_.data() + first * inputs_,
                           .start = {},
                           .column = {},
                           .value = {}};
  if (anchor > 0) add_weighted_outer(block, weight, hold);
  if (!(lambda > 0)) return;
  Matrix tile(kTilePairs, size);
  Index filled = 0;
  const auto flush = [&] {
    const int n = static_cast<int>(size), k = static_cast<int>(filled);
    const double one = 1;
    dsyrk_("U", "N", &n, &k, &one, tile.data(), &n, &one, sums.data() + size * size, &n);
    filled = 0;
  };
  for (Index i = first; i < first + rows; ++i) {
    const double p = scores.p[i], s = p * (1 - p);
    const float* x = x_.data() + i * inputs_;
    for (Index k = of_.start[at(i)]; k < of_.start[at(i + 1)]; ++k) {
      const double pbar = p - scores.dp[k], sbar = pbar * (1 - pbar);
      const double w = std::sqrt(4 * lambda * of_.weight[k]);
      const double own = w * s, other = w * sbar;
      const float* bar = bar_.data() + k * inputs_;
      double* row = tile.data() + filled * size;
      for (Index j = 0; j < inputs_; ++j)
        row[j] = own * static_cast<double>(x[j]) - other * static_cast<double>(bar[j]);
      row[inputs_] = own - other;
      if (++filled == kTilePairs) flush();
    }
  }
  if (filled > 0) flush();
}

void DensePairs::curvature(const Scores& scores, double anchor, double lambda, Matrix& hold,
                           Matrix& pull) const {
  const Index size = inputs_ + 1;
  const auto all = reduce<Sums>(
      block_count(of_.rows()), [&] { return Sums{Vector::Zero(2 * size * size)}; },
      [&](Sums& state, Index b) { add_curvature(scores, b, anchor, lambda, state.values); },
      exec_);
  const auto whole = [&](const double* part) {
    const Eigen::Map<const Matrix> lower(part, size, size);
    return Matrix(lower.selfadjointView<Eigen::Lower>());
  };
  hold = whole(all.values.data());
  pull = whole(all.values.data() + size * size);
}

}  // namespace fmd::internal
