#pragma once

#include <vector>

#include "fmd/unlearn/solve.h"
#include "unlearn/small_problem.h"

namespace fmd::test {

[[nodiscard]] inline std::vector<ProblemShape> shapes() {
  std::vector<ProblemShape> all;
  for (const Index outputs : {1, 3})
    for (const bool sparse : {false, true})
      all.push_back({.outputs = outputs, .sparse = sparse, .sets = 2});
  return all;
}

[[nodiscard]] inline GapPenalty parity_gap(const SmallProblem& p, double gamma) {
  return {
      .measure = make_measure("demographic_parity_soft"), .gamma = gamma, .group = p.group};
}

[[nodiscard]] inline Vector moved(const Vector& theta, double by, std::uint64_t seed = 5) {
  Rng rng(seed, "moved");
  Vector result = theta;
  for (Index j = 0; j < theta.size(); ++j) result[j] += by * rng.normal();
  return result;
}

}  // namespace fmd::test
