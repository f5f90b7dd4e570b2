#pragma once

#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/types.h"
#include "fmd/model/features.h"
#include "unlearn/delta.h"

namespace fmd::internal {

// Number of pairs of classes k > l, which determine a symmetric sum with zero class sums.
// One output has a single block instead.
[[nodiscard]] constexpr Index class_pairs(Index outputs) {
  return outputs == 1 ? 1 : outputs * (outputs - 1) / 2;
}

// Weights of some pairs, rows x class_pairs each. Class pair (k, l) is in column
// k (k-1) / 2 + l. Where the phi parts are empty, only delta delta^T is summed.
struct PairWeights {
  Matrix phi_phi, phi_delta, delta_phi, delta_delta;
};

// Rows of pairs that are weighted together, so that the scaled copies stay in cache.
inline constexpr Index kPairChunk = 256;

// The curvature of anything that depends on the scores of pairs:
//   sum_i A_i (x) phi phi^T + B_i (x) phi delta^T + B_i^T (x) delta phi^T
//         + E_i (x) delta delta^T,   phi = (phi(c), 1), delta = (delta, 0).
// The rows and columns of the class matrices A, B, E add up to 0, like those of slopes.
// Only the blocks k > l are summed; the diagonal blocks follow from the zero sums.
class PairOuterSum {
 public:
  PairOuterSum() = default;
  PairOuterSum(Index inputs, Index outputs);

  // Adds pairs [first, first + weights' rows) of the block.
  void add(const FeatureBlock& c, const Delta& delta, Index first,
           const PairWeights& weights);

  void merge(const PairOuterSum& other);
  void save(ByteWriter& out) const;
  static PairOuterSum load(ByteReader& in);

  [[nodiscard]] Matrix matrix() const;  // parameters x parameters, full and symmetric

 private:
  void add_dense(const FeatureBlock& c, const Delta& delta, Index first,
                 const PairWeights& weights);
  void add_sparse(const FeatureBlock& c, const Delta& delta, Index first,
                  const PairWeights& weights);
  void add_row_pairs(const FeatureBlock& c, const Delta& delta, Index first,
                     const PairWeights& weights);
  double* block(Index pair);

  Index stride_ = 0, outputs_ = 0;  // stride = inputs + 1
  Matrix sum_;  // one stride x stride block after the other; empty before the first use
  // One output and sparse features: row a of the lower triangle has a + 1 numbers, and none
  // before the first pair with feature a. Most features are not in most blocks.
  std::vector<std::vector<double>> rows_;
};

}  // namespace fmd::internal
