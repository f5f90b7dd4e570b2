#pragma once

#include "fmd/core/bytes.h"
#include "fmd/core/types.h"
#include "fmd/model/features.h"
#include "unlearn/delta.h"

namespace fmd {

// Number of pairs of classes k > l that a symmetric sum with zero class sums is told by;
// one output has its single block instead.
[[nodiscard]] constexpr Index class_pairs(Index outputs) {
  return outputs == 1 ? 1 : outputs * (outputs - 1) / 2;
}

// Weights of some pairs, rows x class_pairs each, class pair (k, l) in column k (k-1) / 2 +
// l. Empty phi parts: only delta delta^T.
struct PairWeights {
  Matrix phi_phi, phi_delta, delta_phi, delta_delta;
};

// Rows of pairs that get their weights at once: the scaled copies then stay in cache.
inline constexpr Index kPairChunk = 256;

// sum_i of A_i (x) phi phi^T + B_i (x) phi delta^T + B_i^T (x) delta phi^T + E_i (x) delta
// delta^T with phi = (phi(c), 1), delta = (delta, 0) and class matrices A, B, E whose rows
// and columns add up to 0 (as slopes' do): the curvature of anything that depends on pairs'
// scores. Only the blocks k > l are summed; the diagonal ones follow from the zero sums.
class PairOuterSum {
 public:
  PairOuterSum() = default;
  PairOuterSum(Index inputs, Index outputs);

  // Adds pairs [first, first + weights' rows) of the block.
  void add(const FeatureBlock& c, const Delta& delta, Index first,
           const PairWeights& weights);

  void merge(const PairOuterSum& other) { sum_ += other.sum_; }
  void save(ByteWriter& out) const;
  static PairOuterSum load(ByteReader& in);

  [[nodiscard]] Matrix matrix() const;  // parameters x parameters, full and symmetric

 private:
  void add_dense(const FeatureBlock& c, const Delta& delta, Index first,
                 const PairWeights& weights);
  void add_sparse(const FeatureBlock& c, const Delta& delta, Index first,
                  const PairWeights& weights);
  double* block(Index pair) { return sum_.data() + pair * stride_ * stride_; }

  Index stride_ = 0, outputs_ = 0;  // stride = inputs + 1
  Matrix sum_;                      // one stride x stride block after the other
};

}  // namespace fmd
