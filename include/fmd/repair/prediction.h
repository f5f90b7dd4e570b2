#pragma once

#include "fmd/core/exec.h"
#include "fmd/model/head_problem.h"
#include "fmd/unlearn/candidate.h"

namespace fmd {

// path_gap() of pairs that come in parts. Refers to its arguments.
class PathGap {
 public:
  PathGap(const HeadProblem& problem, const Vector& theta);
  void add(const PairSet& pairs, const Exec& exec);
  [[nodiscard]] Predicted gap() const;

 private:
  const HeadProblem& problem_;
  const Vector& theta_;
  double before_ = 0, after_ = 0, weight_ = 0;
};

// Flip gap of a two-class head at theta, if every pair kept the secant slope that it has
// at the problem's own parameters. This is the gap in the sense of the quadratic path.
// Undefined for softmax.
[[nodiscard]] Predicted path_gap(const HeadProblem& problem, const Vector& theta,
                                 const PairSet& pairs, const Exec& exec);
// The flip gap B to first order: B + grad B . (theta - the problem's parameters). A gap
// cannot fall below 0: then it is capped.
[[nodiscard]] Predicted first_order_gap(const HeadProblem& problem, const Vector& theta,
                                        const PairSet& pairs, const Exec& exec);

}  // namespace fmd
