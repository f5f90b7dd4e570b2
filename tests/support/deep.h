#pragma once

#include <algorithm>

#include "fmd/curvature/gauss_newton.h"
#include "fmd/model/mlp_head.h"
#include "support/problems.h"

namespace fmd::test {

// A network with two hidden layers, and rows for it.
struct Deep {
  MlpHead head;
  Problem problem;
  Vector theta;

  explicit Deep(Activation activation, Index outputs = 3, Index rows = 1100)
      : head({4, 6, 5, outputs}, activation),
        problem(random_problem({.rows = rows,
                                .cols = 4,
                                .classes = std::max<Index>(2, outputs),
                                .weighted = true})),
        theta(random_vector(head.parameters(), 3, 0.6)) {}

  [[nodiscard]] GaussNewton product(GaussNewtonTerms terms, const Exec& exec = {}) const {
    return {head, problem.rows(), theta, terms, exec};
  }
};

}  // namespace fmd::test
