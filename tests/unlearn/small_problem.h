#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "fmd/core/rng.h"
#include "fmd/data/encoder.h"
#include "fmd/model/head.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd::test {

struct ProblemShape {
  Index rows = 60;
  Index outputs = 1;  // 1 = sigmoid
  // One-hot attribute and flips; otherwise dense features and noisy partners.
  bool sparse = false;
  Index values = 3;  // of the attribute, sparse only
  Index sets = 1;    // sets of pairs
  double size = 1;   // of the parameters
  std::uint64_t seed = 1;
};

// Rows, pairs and a head with random parameters. Sparse: columns 0 .. values-1 are the
// attribute, then one group of four categories, then two numbers. Views point into the
// vectors' memory, which stays where it is when the struct is moved.
struct SmallProblem {
  std::unique_ptr<Features> X, Xbar;
  std::vector<std::int32_t> y, y_pairs, group;
  std::vector<float> weight;
  std::vector<Index> source;  // row of each pair
  LinearHead head{0, 1};
  Vector theta0;
  Rows rows;
  std::vector<PairSet> pairs;

  [[nodiscard]] Index dim() const { return head.parameters(); }
};

namespace detail {

struct Csr {
  CsrRows rows;
  void add(std::int32_t column, double value) {
    rows.column.push_back(column);
    rows.value.push_back(static_cast<float>(value));
  }
  void end() { rows.start.push_back(static_cast<Index>(rows.column.size())); }
};

inline void fill_sparse(const ProblemShape& shape, Rng& rng, SmallProblem& p) {
  const auto V = static_cast<std::int32_t>(shape.values);
  Csr x, xbar;
  x.rows.cols = xbar.rows.cols = shape.values + 6;
  for (Index i = 0; i < shape.rows; ++i) {
    const auto a = static_cast<std::int32_t>(rng.below(shape.values));
    const auto b = static_cast<std::int32_t>(rng.below(4));
    const double first = rng.normal(), second = rng.normal();
    const auto put = [&](Csr& to, std::int32_t value) {
      to.add(value, 1);
      to.add(V + b, 1);
      to.add(V + 4, first);
      to.add(V + 5, second);
      to.end();
    };
    put(x, a);
    p.group.push_back(a == 0 ? 0 : 1);
    for (std::int32_t to = 0; to < V; ++to) {
      if (to == a) continue;
      put(xbar, to);
      p.source.push_back(i);
    }
  }
  p.X = make_sparse(std::move(x.rows));
  p.Xbar = make_sparse(std::move(xbar.rows));
}

inline void fill_dense(const ProblemShape& shape, Rng& rng, SmallProblem& p) {
  const Index d = 5;
  std::vector<float> x, xbar;
  for (Index i = 0; i < shape.rows; ++i) {
    for (Index j = 0; j < d; ++j) {
      const double value = rng.normal();
      x.push_back(static_cast<float>(value));
      xbar.push_back(static_cast<float>(j < 3 ? value + 0.7 * rng.normal() + 0.3 : value));
    }
    p.group.push_back(x[static_cast<std::size_t>(i * d)] > 0 ? 0 : 1);
    p.source.push_back(i);
  }
  p.X = make_dense(std::move(x), shape.rows, d);
  p.Xbar = make_dense(std::move(xbar), shape.rows, d);
}

}  // namespace detail

[[nodiscard]] inline SmallProblem small_problem(const ProblemShape& shape) {
  SmallProblem p;
  Rng rng(shape.seed, "small problem");
  if (shape.sparse) {
    detail::fill_sparse(shape, rng, p);
  } else {
    detail::fill_dense(shape, rng, p);
  }
  p.head = LinearHead(p.X->cols(), shape.outputs);
  p.theta0.resize(p.head.parameters());
  for (Index j = 0; j < p.dim(); ++j) p.theta0[j] = shape.size * rng.normal();
  for (Index i = 0; i < shape.rows; ++i) {
    p.y.push_back(static_cast<std::int32_t>(rng.below(classes_of(shape.outputs))));
    p.weight.push_back(static_cast<float>(0.5 + rng.uniform()));
  }
  for (const Index i : p.source) p.y_pairs.push_back(p.y[static_cast<std::size_t>(i)]);
  p.rows = {.X = p.X.get(), .y = p.y, .weight = p.weight, .subset = {}};
  for (Index s = 0; s < shape.sets; ++s) {
    PairSet set;
    set.c = {.X = p.X.get(), .y = p.y, .weight = {}, .subset = p.source};
    set.cbar = {.X = p.Xbar.get(), .y = p.y_pairs, .weight = {}, .subset = {}};
    set.unit = p.source;
    for (std::size_t i = 0; i < p.source.size(); ++i)
      set.weight.push_back(s == 0 ? 0.5F : static_cast<float>(rng.uniform()));
    p.pairs.push_back(std::move(set));
  }
  return p;
}

// Features of all entries, dense, with a last column of ones.
[[nodiscard]] inline Matrix dense_rows(const Rows& rows) {
  Matrix x = Matrix::Zero(rows.size(), rows.X->cols() + 1);
  for (Index b = 0; b < block_count(rows.size()); ++b) {
    Scratch scratch;
    const FeatureBlock block = rows.block(b, scratch);
    for (Index i = 0; i < block.rows; ++i) {
      const Index entry = b * kBlockRows + i;
      x(entry, block.cols) = 1;
      if (!block.sparse()) {
        for (Index j = 0; j < block.cols; ++j)
          x(entry, j) = static_cast<double>(block.dense[i * block.cols + j]);
        continue;
      }
      for (Index e = block.start[static_cast<std::size_t>(i)];
           e < block.start[static_cast<std::size_t>(i) + 1]; ++e) {
        const auto at = static_cast<std::size_t>(e);
        x(entry, block.column[at]) =
            block.value.empty() ? 1.0 : static_cast<double>(block.value[at]);
      }
    }
  }
  return x;
}

// Scores of all classes, by the textbook formula.
[[nodiscard]] inline Matrix textbook_scores(const Matrix& x, const Vector& theta,
                                            Index outputs) {
  const Eigen::Map<const Matrix> W(theta.data(), outputs, x.cols());
  const Matrix z = x * W.transpose();
  Matrix p(x.rows(), classes_of(outputs));
  for (Index i = 0; i < x.rows(); ++i) {
    if (outputs == 1) {
      p(i, 1) = 1 / (1 + std::exp(-z(i, 0)));
      p(i, 0) = 1 / (1 + std::exp(z(i, 0)));
    } else {
      p.row(i) = (z.row(i).array() - z.row(i).maxCoeff()).exp();
      p.row(i) /= p.row(i).sum();
    }
  }
  return p;
}

// The two-class softmax that is the same model as a sigmoid head's.
[[nodiscard]] inline Vector as_softmax(const Vector& theta) {
  Vector both(2 * theta.size());
  both << -theta / 2, theta / 2;
  return both;
}

}  // namespace fmd::test
