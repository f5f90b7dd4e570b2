#pragma once

#include "fmd/core/types.h"

namespace fmd {

// min c.x  subject to  a0.x <= b0, a1.x <= b1, 0 <= x <= 1: n unknowns, two rows.
struct BoxProgram {
  Vector c, a0, a1;
  double b0 = 0, b1 = 0;
};

struct BoxSolution {
  bool feasible = false;
  Vector x;              // a vertex: at most two entries lie inside (0, 1)
  double objective = 0;  // c.x
  double dual = 0;       // value of the dual at the multipliers: equals it at the optimum
  int steps = 0;
};

// By the dual simplex method with bound flips: with the signs of c as a start it is dual
// feasible, a step passes as many bounds as it can, and there are but two rows, so that
// everything is computed anew in each. Throws Error(bad_shape; numerical: no end after
// 10,000 steps).
[[nodiscard]] BoxSolution solve_box(const BoxProgram& program);

}  // namespace fmd
