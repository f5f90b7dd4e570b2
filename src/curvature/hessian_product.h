#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// H V without H: the mean Hessian of F for a linear head, with gauge term and damping,
// applied to directions in one pass over the rows. Probabilities are kept when they fit
// into 256 MB, otherwise each pass computes them again.
class HessianProduct {
 public:
  struct Terms {
    double n = 1;        // rows in the mean
    double l2 = 0;       // on the weights
    double gauge = 0;    // t of t (11^T / C) (x) I; unused for one output
    double damping = 0;  // on the diagonal
  };
  HessianProduct(const LinearHead& head, const Rows& rows, const Vector& theta,
                 const Terms& terms, const Exec& exec);

  [[nodiscard]] Index dim() const { return theta_.size(); }
  // V: one column per direction.
  [[nodiscard]] Matrix apply(const Matrix& V) const;
  // The trace of each row's part of the sum, w (1 - sum_k p_k^2) (|phi|^2 + 1): how much
  // the row adds to H.
  [[nodiscard]] Vector row_traces() const;
  // The diagonal of H, with all terms.
  [[nodiscard]] Vector diagonal() const;

  [[nodiscard]] const Terms& terms() const { return terms_; }
  void set_terms(const Terms& terms) { terms_ = terms; }

 private:
  [[nodiscard]] Matrix block_slopes(const FeatureBlock& block, Index b) const;

  LinearHead head_;
  Rows rows_;
  Vector theta_;
  Terms terms_;
  Exec exec_;
  Matrix slopes_;  // see block_slopes; of all rows, or empty
};

// into[j] += scale x_j^2 for the features x of row i; the intercept, which comes last,
// has x = 1.
void add_squares(const FeatureBlock& block, Index i, double scale, double* into);

}  // namespace fmd::internal
