#pragma once

#include <span>

#include "fmd/core/types.h"

// The terms of J (solve.h) of one row or one pair, as functions of logits: all that J is
// made of besides the head. One output (sigmoid): spans of one entry, p = p(class 1).
namespace fmd {

// w KL(old || p) where p's logits are old's plus dz; old has all classes. Writes p; dz
// becomes the slope. Formed from dz alone, so that a small divergence keeps its digits.
class AnchorTerm {
 public:
  explicit AnchorTerm(Index outputs);
  double operator()(std::span<const double> old, double w, std::span<double> dz,
                    std::span<double> p);

 private:
  Vector e_, p_, change_;
};

// Weights of a pair's terms, its own included.
struct PairScale {
  double fit = 0;   // of CE(c) and of CE(cbar)
  double pull = 0;  // of |p(c) - p(cbar)|^2 over the head's outputs
};

// fit (CE(c) + CE(cbar)) + pull |p(c) - p(cbar)|^2.
class PairTerm {
 public:
  explicit PairTerm(Index outputs);

  // The value. z = z(c) becomes the slope on both sides together (the sum of dJ/dz(c) and
  // dJ/dz(cbar)), dz = z(c) - z(cbar) that on cbar. Writes p = p(c) and dp = p(c) -
  // p(cbar). y is read where fit > 0.
  double operator()(const PairScale& scale, std::int32_t y, std::span<double> z,
                    std::span<double> dz, std::span<double> p, std::span<double> dp);

  // The same of the curvature times a direction: u = J v of c and du that less cbar's.
  // exact: with the second derivatives of consistency, which Gauss-Newton leaves out.
  void curvature(const PairScale& scale, bool exact, std::span<const double> p,
                 std::span<const double> dp, std::span<double> u, std::span<double> du);

 private:
  Vector pbar_, zbar_, c_, bar_, r_, rbar_;
};

}  // namespace fmd
