#pragma once

#include "core/internal.h"
#include "fmd/core/types.h"

// The arithmetic of SharedPairs for rows that have the same differences, for the CPU that
// runs it. All arrays hold a multiple of kPairLanes numbers; those behind the last row have
// no weight.
namespace fmd::internal::pair_kernels {

inline constexpr Index kPairLanes = 8;

[[nodiscard]] constexpr Index padded(Index rows) {
  return (rows + kPairLanes - 1) / kPairLanes * kPairLanes;
}

// Scores of rows (q = 1 - p), and sums over their pairs, which are added to.
struct PairRows {
  Index count;  // padded
  const double *p, *q;
  double *pulled, *slopes, *own;
};

// exp(dz) of a difference, and that less 1.
struct Ratio {
  double all, less_one;
};

struct PairSums {
  double squares = 0, slopes = 0, other = 0;
};

// One pair of each row, all with one difference. dp = p(c) - p(cbar); mixed: curvature by
// the row's logit and the difference.
[[nodiscard]] PairSums evaluate(const PairRows& rows, const double* weight, Ratio ratio,
                                double* dp, double* mixed);

// both_i += mixed_i du; returns sum mixed_i pulled_i.
[[nodiscard]] double product(Index count, const double* mixed, const double* pulled,
                             double du, double* both);

// What holds a row: its logit, score and log(1 + exp(-|logit|)) at theta0, and its weight.
struct HeldRows {
  Index count;  // padded
  const double *z0, *p0, *q0, *tail0, *weight;
};

// The sum of weight KL(p0 || p) where the logits have moved to z; slope by the logit.
[[nodiscard]] double held(const HeldRows& rows, const double* moved, const double* p,
                          const double* q, const double* tail, double* slope);

}  // namespace fmd::internal::pair_kernels
