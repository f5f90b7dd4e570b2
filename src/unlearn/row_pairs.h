#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// Anchor and consistency of J (solve.h) for a linear head with one output, row by row: a
// row is scored once for all of its pairs. SharedPairs does it for sparse features,
// DensePairs for dense ones.
class RowPairs {
 public:
  virtual ~RowPairs() = default;

  // Null where rows and pairs are of no such kind. with_anchor: rows get an anchor.
  [[nodiscard]] static std::unique_ptr<const RowPairs> make(
      const LinearHead& head, const Vector& theta0, const Rows& rows,
      std::span<const PairSet> pairs, bool with_anchor, const Exec& exec);

  // What is kept of an evaluation for the curvature there.
  struct Scores {
    Vector p;   // per row
    Vector dp;  // per pair: p(c) - p(cbar)
    // SharedPairs: the exact curvature of consistency, without 4 lambda. Of each row that
    // of its logit; of each pair that of logit and difference; of each difference its own.
    Vector own, mixed, other;
  };
  // anchor * mean KL + lambda * mean |p(c) - p(cbar)|^2; adds its gradient.
  virtual double evaluate(const Vector& theta, double anchor, double lambda,
                          Vector& gradient, Scores& scores) const = 0;

  // The curvature there times v; exact: with the second derivatives of consistency.
  [[nodiscard]] virtual Vector product(const Scores& scores, const Vector& v, double anchor,
                                       double lambda, bool exact) const = 0;

  // The Gauss-Newton matrices of both terms.
  virtual void curvature(const Scores& scores, double anchor, double lambda, Matrix& hold,
                         Matrix& pull) const = 0;
};

// The rows of some pairs, each once, with their weight in the anchor and their pairs.
struct PairsByRow {
  std::vector<Index> source;           // row of X
  Vector anchor;                       // adds up to 1
  std::vector<Index> start;            // pairs of each row; those of a row set after set
  std::vector<std::vector<Index>> to;  // place of each pair, by set
  Vector weight;                       // of each place; all of them add up to 1

  PairsByRow(const Features& X, const Rows& rows, std::span<const PairSet> pairs,
             bool with_anchor);
  [[nodiscard]] Index rows() const { return std::ssize(source); }
  [[nodiscard]] Index pairs() const { return weight.size(); }
};

// KL(p0 || p) where the logit moved, and its slope by that logit; q = 1 - p.
struct MovedScore {
  double value, slope;
  MovedScore(double p0, double moved, double p, double q);
};

}  // namespace fmd::internal
