#include "repair/gap_penalties.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/metrics/bias_measure.h"

namespace fmd::internal {
namespace {

std::vector<GapPenalty> gap_penalties(const HeadProblem& problem,
                                      const RepairOptions& options) {
  std::vector<GapPenalty> gaps;
  for (const Limit& gap : options.gaps) {
    const std::vector<GroupCodes>& all = problem.edit.attributes;
    const auto found = std::find_if(all.begin(), all.end(), [&](const GroupCodes& one) {
      return one.name == gap.attribute;
    });
    if (found == all.end()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("gap {}: {} is not an attribute of this task", to_string(gap),
                              gap.attribute),
                  "write MEASURE:ATTRIBUTE=GAMMA, e.g. demographic_parity_soft:sex=10");
    }
    GapPenalty penalty;
    penalty.measure = make_measure(
        gap.measure,
        {.favorable = problem.favorable, .groups = found->values, .sharpen = 1});
    penalty.gamma = gap.value;
    penalty.group.assign(found->code.begin(), found->code.end());
    gaps.push_back(std::move(penalty));
  }
  return gaps;
}

}  // namespace

SolveOptions solve_options(const HeadProblem& problem, const RepairOptions& options) {
  return {.anchor = options.anchor,
          .fit = options.fit,
          .lambda = 0,
          .mu = options.mu >= 0 ? options.mu : problem.l2,
          .gaps = gap_penalties(problem, options)};
}

void add_solve(const SolveSummary& one, InverseSummary& all) {
  all.residual = std::max(all.residual, one.gradient);
  all.iterations += one.iterations;
  if (one.status == SolveStatus::stopped) all.converged = false;
}

}  // namespace fmd::internal
