#pragma once

#include <string>
#include <vector>

#include "fmd/data/task.h"
#include "fmd/metrics/interval.h"

namespace fmd {

struct AttributeAudit;

// One line of a limit: an interval, and the group or pair that it is about.
struct LimitLine {
  std::string about;  // group, or pair of values; empty when there is only one
  Interval interval;
  Verdict verdict = Verdict::none;
};

struct LimitResult {
  // With its attribute filled in and the measure that was judged: `co` of more than two
  // values is co_worst, a name of another program is ours.
  Limit limit;
  std::string asked;  // the measure as it was asked for
  std::vector<LimitLine> lines;
  Verdict verdict = Verdict::none;
  std::string reason;  // why there are no lines, e.g. "not_an_input"
};

// Throws Error(bad_option) for a measure that is not among measure_names() and its other
// names, and for an attribute that the task does not have.
void require_limits(const Task& task);

// Judges one limit, in the sense of its measure (see limit_sense). A measure of groups is
// judged against the reference where that is named, and otherwise at the widest pair of
// groups. `co` of more than two values is judged as co_worst; co_mean is the mean. A flip
// measure of an attribute that the model does not read is unclear, with the reason
// not_an_input. It never passes.
[[nodiscard]] LimitResult judge_limit(const AttributeAudit& audit, const Limit& limit);
// With fewer rows than this behind its figure no limit passes.
inline constexpr Index kLimitRows = 50;

// One fail: fail. No fail, but one unclear: unclear. Otherwise pass; none without limits.
[[nodiscard]] Verdict overall(const std::vector<LimitResult>& limits);

}  // namespace fmd
