#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/core/types.h"
#include "fmd/model/features.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// delta_i = phi(c_i) - phi(cbar_i) of one block of pairs, in double. It is CSR where both
// sides are sparse (a flip changes only the few columns of the attribute), and dense rows
// otherwise. Everything about a pair is computed from phi(c) and delta: this is cheaper
// than using both sides, and differences of nearly equal scores keep their digits.
struct Delta {
  Index rows = 0;
  Index cols = 0;
  bool sparse = true;
  Matrix dense;  // rows x cols
  std::vector<Index> start;
  std::vector<std::int32_t> column;
  std::vector<double> value;
  Matrix offset;  // of c minus of cbar; empty where both are null

  // body(feature, difference) for the entries of row i.
  template <typename Body>
  void for_each(Index i, const Body& body) const {
    if (!sparse) {
      for (Index j = 0; j < cols; ++j) body(j, dense(i, j));
      return;
    }
    for (Index e = start[static_cast<std::size_t>(i)];
         e < start[static_cast<std::size_t>(i) + 1]; ++e)
      body(static_cast<Index>(column[static_cast<std::size_t>(e)]),
           value[static_cast<std::size_t>(e)]);
  }
};

// body(feature, value) for the entries of row i of a block of features.
template <typename Body>
void for_each_entry(const FeatureBlock& block, Index i, const Body& body) {
  if (!block.sparse()) {
    const float* row = block.dense + i * block.cols;
    for (Index j = 0; j < block.cols; ++j) body(j, static_cast<double>(row[j]));
    return;
  }
  const auto first = static_cast<std::size_t>(block.start[static_cast<std::size_t>(i)]);
  const auto last = static_cast<std::size_t>(block.start[static_cast<std::size_t>(i) + 1]);
  for (std::size_t e = first; e < last; ++e)
    body(static_cast<Index>(block.column[e]),
         block.value.empty() ? 1.0 : static_cast<double>(block.value[e]));
}

// Sparse rows must have ascending columns: Error(bad_shape) otherwise.
[[nodiscard]] Delta subtract(const FeatureBlock& c, const FeatureBlock& cbar);

// Block b of a set of pairs.
[[nodiscard]] Delta pair_delta(const PairSet& pairs, Index b);

// What the path needs: Error(unsupported) where the sides of a pair differ in their offset.
void require_equal_offsets(const Delta& delta);

// u = W delta for each row, with the W of v: no intercept.
void delta_jvp(const Delta& delta, const LinearHead& head, const Vector& v, Matrix& u);
// z(c) - z(cbar): the same at theta, with the offsets.
void delta_logits(const Delta& delta, const LinearHead& head, const Vector& theta,
                  Matrix& z);

// into -= sum_i h_i (x) (delta_i, 0): what J^T h changes by when c is replaced by cbar.
void subtract_delta_vjp(const Delta& delta, const LinearHead& head, const Matrix& h,
                        Vector& into);

}  // namespace fmd::internal
