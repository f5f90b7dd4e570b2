#pragma once

#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// The sum of x x^T over rows x of a matrix, in a place of its own among other sums. Of long
// rows the diagonal alone, since a matrix of that size would cost more than it saves.
struct Gram {
  Index start = 0, size = 0;

  static constexpr Index kMostFull = 600;
  [[nodiscard]] bool full() const { return size <= kMostFull; }
  [[nodiscard]] Index numbers() const { return full() ? size * size : size; }
  // Adds the rows of X (rows x size).
  void add(const Matrix& X, Vector& sums) const;
  // A full one as a matrix, a diagonal one as a column.
  [[nodiscard]] Eigen::Map<const Matrix> of(const Vector& sums) const {
    return {sums.data() + start, size, full() ? size : 1};
  }
};

// The curvature of pairs (c, cbar) in each layer of a network, by means over the pairs.
// a = what comes into the layer, then a 1; g = the slopes of a figure of the logits by what
// the layer adds up. Hold's block is the mean of (g g^T) (x) (a a^T). Pull's is that of the
// change of p(c) - p(cbar), which is g_c a_c^T - g_cbar a_cbar^T = g da^T + dg a^T, g and a
// the means of both sides, dg and da their differences. Taken for independent of each other
// as K-FAC does:
//
//   hold + pull ~ (hold + slope_change) (x) inputs + slope (x) input_change
struct LayerCurvature {
  struct Layer {
    Index start = 0;  // of its parameters
    Gram inputs, input_change, hold, slope, slope_change;
  };
  explicit LayerCurvature(const std::vector<Index>& widths);

  std::vector<Layer> layers;
  Vector sums;  // of all of them
};

// (hold_scale x hold + pull + ridge)^-1 of those blocks, blocks between layers left out:
// two generalised eigendecompositions of the layer's own sizes invert the sum of two
// Kronecker products exactly. The ridge is split between the factors of the first.
class LayerInverse {
 public:
  LayerInverse() = default;
  LayerInverse(const LayerCurvature& curvature, double hold_scale, double ridge);

  void apply(Vector& v) const;

 private:
  // V with V^T first V = 1 and V^T second V diagonal; a column where both are diagonal.
  struct Basis {
    Matrix vectors;
    Vector values;
  };
  static Basis basis(const Matrix& first, const Matrix& second);
  static Matrix into(const Basis& basis, const Matrix& rows);
  static Matrix back(const Basis& basis, const Matrix& rows);

  struct Layer {
    Index start = 0;
    Basis inputs, outputs;
  };
  std::vector<Layer> layers_;
};

}  // namespace fmd
