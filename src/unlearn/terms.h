#pragma once

#include <span>

#include "core/internal.h"
#include "fmd/core/types.h"

// The terms of J (solve.h) for one row or one pair, as functions of logits. J is written
// once, here; only the way to the logits and their slopes differs between heads
// (PairPiece in unlearn/pieces.h). One output (sigmoid): spans of one entry, p = p(class
// 1).
namespace fmd::internal {

// w KL(old || p), where the logits of p are those of old plus dz; old has all classes.
// Writes p. dz becomes the slope. The value is formed from dz alone, so that a small
// divergence keeps its digits.
class AnchorTerm {
 public:
  explicit AnchorTerm(Index outputs);
  double operator()(std::span<const double> old, double w, std::span<double> dz,
                    std::span<double> p);

 private:
  Vector e_, p_, change_;
};

// Weights of a pair's terms; the pair's own weight is part of them.
struct PairScale {
  double fit = 0;   // of CE(c) and of CE(cbar)
  double pull = 0;  // of |p(c) - p(cbar)|^2 over the head's outputs
};

// fit (CE(c) + CE(cbar)) + pull |p(c) - p(cbar)|^2.
class PairTerm {
 public:
  explicit PairTerm(Index outputs);

  // Returns the value. z = z(c) becomes dJ/dz(c) + dJ/dz(cbar), the slope of both sides
  // together. dz = z(c) - z(cbar) becomes dJ/dz(cbar). Writes p = p(c) and
  // dp = p(c) - p(cbar). y is read only where fit > 0.
  double operator()(const PairScale& scale, std::int32_t y, std::span<double> z,
                    std::span<double> dz, std::span<double> p, std::span<double> dp);

  // The same for the curvature times a direction v: u = J v of c, du = J v of c minus J v
  // of cbar. exact: with the second derivatives of consistency, which Gauss-Newton leaves
  // out.
  void curvature(const PairScale& scale, bool exact, std::span<const double> p,
                 std::span<const double> dp, std::span<double> u, std::span<double> du);

 private:
  Vector pbar_, zbar_, c_, bar_, r_, rbar_;
};

}  // namespace fmd::internal
