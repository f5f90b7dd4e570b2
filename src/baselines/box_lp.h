#pragma once

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// min c.x  subject to  a0.x <= b0, a1.x <= b1, 0 <= x <= 1: n unknowns, two rows.
struct BoxProgram {
  Vector c, a0, a1;
  double b0 = 0, b1 = 0;
};

struct BoxSolution {
  bool feasible = false;
  Vector x;              // a vertex: at most two entries lie inside (0, 1)
  double objective = 0;  // c.x
  double dual = 0;       // value of the dual at the multipliers; equals it at the optimum
  int pivots = 0;
};

// The dual simplex method with bound flips. The signs of c give a start that is dual
// feasible. A pivot passes as many bounds as it can. There are only two rows, so everything
// is computed again in each pivot: this is shorter than a general solver, and the result
// is a vertex, not an approximation. Throws Error(bad_shape; numerical: no end after
// 10,000 pivots).
[[nodiscard]] BoxSolution solve_box(const BoxProgram& program);

}  // namespace fmd::internal
