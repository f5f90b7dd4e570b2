#pragma once

#include <memory>
#include <vector>

#include "fmd/core/rng.h"
#include "fmd/data/encoder.h"
#include "fmd/model/features.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

// Small random problems. Owns what a Rows points to.
namespace fmd::test {

struct Problem {
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y;
  std::vector<float> weight;

  [[nodiscard]] Rows rows() const { return {X.get(), y, weight, {}}; }
};

struct ProblemShape {
  Index rows = 50;
  Index cols = 4;
  Index classes = 2;
  bool sparse = false;  // about a third of the entries; the same numbers as dense zeros
  bool ones = false;    // every entry is 0 or 1
  bool weighted = false;
  std::uint64_t seed = 1;
};

inline std::vector<float> random_values(const ProblemShape& shape) {
  Rng rng(shape.seed, "values");
  std::vector<float> values;
  for (Index i = 0; i < shape.rows * shape.cols; ++i) {
    const bool there = rng.uniform() < 0.4;
    const auto value = static_cast<float>(rng.normal());
    values.push_back(!there && (shape.sparse || shape.ones) ? 0.0f
                     : shape.ones                           ? 1.0f
                                                            : value);
  }
  return values;
}

inline CsrRows to_csr(const std::vector<float>& values, Index rows, Index cols, bool ones) {
  CsrRows csr;
  csr.cols = cols;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      const float value = values[static_cast<std::size_t>(i * cols + j)];
      if (value == 0) continue;
      csr.column.push_back(static_cast<std::int32_t>(j));
      if (!ones) csr.value.push_back(value);
    }
    csr.start.push_back(static_cast<Index>(csr.column.size()));
  }
  return csr;
}

// Labels follow a random linear rule with noise, so that no class is ever separable.
inline Problem random_problem(const ProblemShape& shape) {
  Problem problem;
  const auto values = random_values(shape);
  Rng rng(shape.seed, "labels");
  for (Index i = 0; i < shape.rows; ++i) {
    const double first =
        shape.cols > 0
            ? static_cast<double>(values[static_cast<std::size_t>(i * shape.cols)])
            : 0;
    const bool follows = first > 0 && rng.uniform() < 0.5;
    problem.y.push_back(follows ? 1 : static_cast<std::int32_t>(rng.below(shape.classes)));
    if (shape.weighted) problem.weight.push_back(static_cast<float>(0.5 + rng.uniform()));
  }
  if (shape.sparse) {
    problem.X = make_sparse(to_csr(values, shape.rows, shape.cols, shape.ones));
  } else {
    problem.X = make_dense(values, shape.rows, shape.cols);
  }
  return problem;
}

inline Vector random_vector(Index size, std::uint64_t seed, double scale = 1) {
  Rng rng(seed, "vector");
  Vector v(size);
  for (Index i = 0; i < size; ++i) v[i] = scale * rng.normal();
  return v;
}

// Pairs of random rows with labels of their own and two groups, to measure a bias on.
// Refers to itself: stays where it is made.
struct PairProblem {
  Problem c, cbar;
  std::vector<std::int32_t> group;
  PairSet pairs;

  PairProblem(Index count, Index cols, Index classes)
      : c(random_problem({.rows = count, .cols = cols, .classes = classes, .seed = 8})),
        cbar(random_problem({.rows = count, .cols = cols, .classes = classes, .seed = 9})) {
    for (Index i = 0; i < count; ++i) {
      pairs.unit.push_back(i);
      pairs.weight.push_back(1);
      group.push_back(static_cast<std::int32_t>(i % 2));
    }
    cbar.y = c.y;
    pairs.c = c.rows();
    pairs.cbar = cbar.rows();
  }
  PairProblem(const PairProblem&) = delete;
  PairProblem& operator=(const PairProblem&) = delete;
};

}  // namespace fmd::test
