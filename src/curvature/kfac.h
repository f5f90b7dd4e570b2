#pragma once

#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"

namespace fmd {

// Each layer's block of Gauss-Newton's matrix as a Kronecker product G (x) A: A the mean of
// (a, 1)(a, 1)^T over the rows, G the sum of delta delta^T / n, exact over the labels that
// the model itself would draw; blocks between layers left out. With ridge and damping its
// inverse is applied in the eigenbases of A and G.
class Kfac {
 public:
  struct Terms {
    double n = 1, l2 = 0;
    Index most_blocks = 0;  // of rows, evenly over all, that stand for all; 0 = all
  };
  Kfac(const Head& head, const Rows& rows, const Vector& theta, const Terms& terms,
       const Exec& exec);

  // (blocks + l2 + damping)^-1 v; the ridge is taken on intercepts too.
  [[nodiscard]] Vector solve(const Vector& v, double damping) const;

 private:
  struct Layer {
    Index start = 0;
    Matrix inputs, outputs;  // eigenvectors of A and G, one a column
    Vector input_values, output_values;
  };
  std::vector<Layer> layers_;
  double l2_ = 0;
};

}  // namespace fmd
