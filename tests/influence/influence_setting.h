#pragma once

#include "fmd/fit/train.h"
#include "fmd/influence/influence.h"
#include "fmd/model/linear_head.h"
#include "support/problems.h"

namespace fmd::test {

// Training rows, and pairs and groups to measure on.
struct InfluenceSetting {
  Problem train;
  PairProblem measured;
  LinearHead head;
  Vector theta;
  double l2 = 1e-2;

  InfluenceSetting(Index rows, Index classes, bool weighted = false)
      : train(random_problem(
            {.rows = rows, .cols = 4, .classes = classes, .weighted = weighted})),
        measured(300, 4, classes),
        head(4, classes == 2 ? 1 : classes) {
    theta =
        train_linear(head, train.rows(), {.l2 = l2, .relative_gradient = 1e-12}, {}).theta;
  }
  [[nodiscard]] MeasureData data() const {
    return {&measured.pairs, measured.c.rows(), measured.group};
  }
  [[nodiscard]] InfluenceOptions options(Solver solver = Solver::cholesky) const {
    return {{.solver = solver, .l2 = l2, .tolerance = 1e-12}};
  }
};

}  // namespace fmd::test
