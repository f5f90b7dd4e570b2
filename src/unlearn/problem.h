#pragma once

#include <span>
#include <vector>

#include "fmd/unlearn/solve.h"
#include "unlearn/delta.h"

namespace fmd {

// J of solve.h, prepared for many evaluations. Its curvature comes in two parts: what holds
// theta in place (anchor, fit, mu) and what pulls (consistency, gaps). Refers to its
// arguments.
class SolveProblem {
 public:
  SolveProblem(const LinearHead& head, const Vector& theta0, const Rows& rows,
               std::span<const PairSet> pairs, const SolveOptions& options,
               const Exec& exec);

  // J, its gradient and the scores that its curvature is made of.
  struct Point {
    Vector theta;
    double value = 0;
    Vector gradient;
    Matrix p;                           // rows x outputs; empty without anchor
    std::vector<Matrix> c, difference;  // per set: p(c) and p(c) - p(cbar), pairs x outputs
    std::vector<Vector> gap_gradient;   // of each gap
  };
  [[nodiscard]] Point at(const Vector& theta) const;

  // The Gauss-Newton matrix.
  struct Curvature {
    Matrix hold, pull;
  };
  [[nodiscard]] Curvature curvature(const Point& point) const;

  // (hold_scale x hold + pull) v without forming them. exact: the second derivatives of
  // consistency, which Gauss-Newton leaves out, are part of pull (those of gaps are not).
  [[nodiscard]] Vector product(const Point& point, const Vector& v, double hold_scale,
                               bool exact) const;

  // The diagonals of the two parts.
  struct Diagonal {
    Vector hold, pull;
  };
  [[nodiscard]] Diagonal diagonal(const Point& point) const;

 private:
  void add_rows(Point& point) const;
  void add_pairs(Point& point, std::size_t set) const;
  void add_gaps(Point& point) const;
  void pair_block(Point& point, std::size_t set, Index b, double& value,
                  Vector& gradient) const;
  [[nodiscard]] Matrix pair_curvature(const Point& point, double fit, double lambda) const;
  [[nodiscard]] Vector pair_product(const Point& point, const Vector& v, std::size_t set,
                                    double hold_scale, bool exact) const;
  [[nodiscard]] const Delta& delta(std::size_t set, Index b, Delta& spare) const;
  // weight / (sets x total weight): sums of these are means.
  [[nodiscard]] double pair_weight(std::size_t set, Index entry) const;
  // Of the sum of squared differences: one output stands for two classes.
  [[nodiscard]] double classes_factor() const { return head_.outputs() == 1 ? 2 : 1; }

  const LinearHead& head_;
  const Vector& theta0_;
  const Rows& rows_;
  std::span<const PairSet> pairs_;
  const SolveOptions& options_;
  const Exec& exec_;
  double row_weight_ = 0;           // total
  Matrix p_old_;                    // rows x classes
  std::vector<double> pair_total_;  // per set
  std::vector<std::vector<Delta>>
      deltas_;  // per set and block; empty where they are made anew
};

}  // namespace fmd
