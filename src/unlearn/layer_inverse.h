#pragma once

#include <vector>

#include "core/internal.h"
#include "curvature/kronecker.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// The sum of x x^T over the rows x of a matrix, stored as a range of a longer vector of
// sums. For long rows only the diagonal is kept: the full matrix would cost more than it
// saves.
struct Gram {
  static constexpr Index kMostFull = 600;
  Index start = 0, size = 0, most_full = kMostFull;

  [[nodiscard]] bool full() const { return size <= most_full; }
  [[nodiscard]] Index numbers() const { return full() ? size * size : size; }
  // Adds the rows of X (rows x size).
  void add(const Matrix& X, Vector& sums) const;
  // The full matrix, or the diagonal as one column.
  [[nodiscard]] Eigen::Map<const Matrix> of(const Vector& sums) const {
    return {sums.data() + start, size, full() ? size : 1};
  }
};

// The curvature of pairs (c, cbar) in each layer of a network, as means over the pairs.
// a = the inputs of the layer, then a 1. g = the derivatives of a figure of the logits with
// respect to the layer's sums. The block of hold is the mean of (g g^T) (x) (a a^T). The
// block of pull comes from the change of p(c) - p(cbar), which is
// g_c a_c^T - g_cbar a_cbar^T = g da^T + dg a^T: g and a are the means of both sides, dg
// and da their differences. The factors are treated as independent, as in K-FAC:
//
//   hold + pull ~ (hold + slope_change) (x) inputs + slope (x) input_change
//
// Plain K-FAC has one product for each layer, and it knows nothing of what c and cbar
// have in common. On three layers of Colored MNIST (5,000 pairs, lambda 10), 15 steps
// with the two products take half the CPU time, and J ends at .48 where it ended at .64.
struct LayerCurvature {
  struct Layer {
    Index start = 0;  // of the layer's parameters
    Gram inputs, input_change, hold, slope, slope_change;
  };
  // most_full: the longest side that has a full matrix.
  explicit LayerCurvature(const std::vector<Index>& widths,
                          Index most_full = Gram::kMostFull);

  std::vector<Layer> layers;
  Vector sums;  // of all layers
};

// (hold_scale x hold + pull + ridge)^-1 of those blocks. Blocks between layers are left
// out. Two generalised eigendecompositions of the layer's own sizes invert the sum of two
// Kronecker products exactly (curvature/kronecker.h). The ridge is split between the
// factors of the first product.
class LayerInverse {
 public:
  LayerInverse() = default;
  LayerInverse(const LayerCurvature& curvature, double hold_scale, double ridge);

  void apply(Vector& v) const;

 private:
  std::vector<KroneckerBlock> layers_;
};

}  // namespace fmd::internal
