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
  Limit limit;  // with its attribute filled in
  std::vector<LimitLine> lines;
  Verdict verdict = Verdict::none;
  std::string reason;  // why there are no lines, e.g. "not_an_input"
};

// The measures of one attribute that a limit can name: those of its flips, every group
// measure of its report, selection_ratio and worst_group_accuracy.
[[nodiscard]] std::vector<std::string> limit_measures(const AttributeAudit& audit);

// Judges one limit, in the sense of its measure (see limit_sense). A flip measure of an
// attribute that the model does not read is unclear, with the reason not_an_input. It never
// passes.
[[nodiscard]] LimitResult judge_limit(const AttributeAudit& audit, const Limit& limit);
// One fail: fail. No fail, but one unclear: unclear. Otherwise pass; none without limits.
[[nodiscard]] Verdict overall(const std::vector<LimitResult>& limits);

}  // namespace fmd
