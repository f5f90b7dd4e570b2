#pragma once

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Inputs of a layer up to which its Kronecker factor is a full matrix when the head is
// linear: an eigendecomposition of that size takes about 8 CPU seconds.
inline constexpr Index kMostKronecker = 2000;

// Vectors V, one a column, in which two matrices are diagonal: V^T first V = 1 and
// V^T second V = values, none negative. Where both are diagonals, given as one column, V
// is a diagonal too and has one column.
struct KroneckerBasis {
  Matrix vectors;
  Vector values;

  KroneckerBasis() = default;
  KroneckerBasis(const Matrix& first, const Matrix& second);
};

// The block of one layer's parameters, outputs x inputs from `start` on. With V of the
// inputs and W of the outputs it is the inverse of
//   W^-T (ridge + damping + values_w values_v^T) V^-1,
// that is of a sum of two Kronecker products of their matrices.
struct KroneckerBlock {
  Index start = 0;
  KroneckerBasis inputs, outputs;

  // into = block^-1 v, within the block. Directions without any curvature become 0.
  void solve(const Vector& v, double ridge, double damping, Vector& into) const;
};

}  // namespace fmd::internal
