#include "fmd/report/limits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/metrics/measure_names.h"
#include "fmd/metrics/pair_gaps.h"
#include "fmd/report/audit_report.h"
#include "report/audit_words.h"

namespace fmd {
namespace {

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_flip(const std::string& measure) {
  return among(flip_measure_names(), measure) || among(PairGaps::names(), measure);
}

constexpr const char* kMatchMeasure = "co_match_excess";

// A gap below the floor is not a bias: only the upper side is judged.
void judge_match(const AttributeAudit& audit, LimitResult& result) {
  if (!audit.match || !audit.match->excess.defined()) {
    result.reason = audit.match ? audit.match->reason : "no matched pairs: --pairs match";
    result.verdict = Verdict::unclear;
    return;
  }
  const Interval& excess = audit.match->excess;
  const Interval upward{std::max(0.0, excess.value), std::max(0.0, excess.low),
                        std::max(0.0, excess.high)};
  result.lines.push_back({"", excess, judge(upward, result.limit.value)});
}

LimitLine flip_line(const AttributeAudit& audit, const std::string& measure) {
  const FlipReport& flip = *audit.flip;
  if (measure == "co_tv") return {"", flip.co_tv, Verdict::none};
  if (measure == "flip_rate") return {"", flip.flip_rate, Verdict::none};
  if (measure == "co_large") return {"", flip.co_large, Verdict::none};
  if (measure == "co_worst") {
    if (flip.worst < 0) return {};
    const FlipCell& cell = flip.cells[static_cast<std::size_t>(flip.worst)];
    return {flip_words(audit.values, cell.from, cell.to), flip.co_worst, Verdict::none};
  }
  return {"", flip.co, Verdict::none};
}

// Gaps lie within the limit, ratios between it and its inverse, accuracies above it.
Verdict judge_sense(const Interval& interval, double limit, LimitSense sense) {
  if (sense == LimitSense::at_most) return judge(interval, limit);
  if (limit > 1) {
    throw Error(ErrorKind::bad_option,
                fmt::format("limit {}: must be between 0 and 1 for this measure", limit),
                "a ratio must lie between the limit and 1 / limit, an accuracy above it");
  }
  if (!interval.defined() || std::isnan(interval.low) || std::isnan(interval.high))
    return Verdict::unclear;
  const double most =
      sense == LimitSense::ratio ? 1 / limit : std::numeric_limits<double>::infinity();
  if (interval.low >= limit && interval.high <= most) return Verdict::pass;
  if (interval.high < limit || interval.low > most) return Verdict::fail;
  return Verdict::unclear;
}

// With a named reference every group is judged against it; otherwise the widest pair.
void judge_groups(const AttributeAudit& audit, LimitResult& result) {
  const GroupReport& groups = audit.groups;
  const GroupMeasure* measure = groups.find(result.limit.measure);
  if (!measure->reason.empty()) {
    result.reason = measure->reason;
    return;
  }
  const auto add = [&](const std::string& about, const Interval& interval) {
    result.lines.push_back(
        {about, interval,
         judge_sense(interval, result.limit.value, limit_sense(measure->name))});
  };
  if (!groups.named && measure->widest.difference.defined()) {
    add(pair_words(groups, *measure, measure->widest), measure->widest.difference);
    return;
  }
  std::set<std::string> rates;
  for (const Comparison& comparison : measure->comparisons) rates.insert(comparison.rate);
  for (const Comparison& comparison : measure->comparisons) {
    const std::string& about =
        groups.groups[static_cast<std::size_t>(comparison.second)].value;
    add(rates.size() > 1 ? about + ", " + comparison.rate : about, comparison.difference);
  }
  if (measure->comparisons.empty()) add(measure->about, measure->value);
}

// Figures of the whole report that are best when large.
void judge_whole(const AttributeAudit& audit, LimitResult& result) {
  const GroupReport& groups = audit.groups;
  const bool worst = result.limit.measure == "worst_group_accuracy";
  const Interval& interval = worst ? groups.worst_group_accuracy : groups.selection_ratio;
  if (!interval.defined()) {
    result.reason = "undefined";
    return;
  }
  const std::string about =
      worst && groups.worst_group >= 0
          ? groups.groups[static_cast<std::size_t>(groups.worst_group)].value
          : "";
  result.lines.push_back(
      {about, interval,
       judge_sense(interval, result.limit.value, limit_sense(result.limit.measure))});
}

// No pair of values has enough rows on both sides: the worst one is not known. It is at
// least the mean, so a mean above the limit fails, and nothing passes.
void judge_without_worst(const AttributeAudit& audit, LimitResult& result) {
  if (judge(audit.flip->co, result.limit.value) == Verdict::fail) {
    result.lines.push_back({"mean", audit.flip->co, Verdict::fail});
  } else {
    result.reason = "no pair of values with enough rows";
  }
}

void judge_flip(const AttributeAudit& audit, LimitResult& result) {
  if (!audit.flip) {
    result.reason = audit.flip_reason;
    return;
  }
  if (result.limit.measure == "co_worst" && audit.flip->worst < 0) {
    judge_without_worst(audit, result);
    return;
  }
  if (among(flip_measure_names(), result.limit.measure))
    result.lines.push_back(flip_line(audit, result.limit.measure));
  for (const FlipFigure& figure : audit.flip->figures)
    if (figure.name == result.limit.measure)
      result.lines.push_back({figure.about, figure.value, Verdict::none});
  for (LimitLine& line : result.lines)
    line.verdict = judge(line.interval, result.limit.value);
}

// The mean over all pairs of values hides the worst one: a limit on `co` is on that.
std::string judged_measure(const AttributeAudit& audit, const std::string& measure) {
  const bool many = audit.values.size() > 2 && audit.pairs == PairKind::flip;
  return measure == "co" && many ? "co_worst" : measure;
}

bool has_measure(const AttributeAudit& audit, const std::string& measure) {
  return is_flip(measure) || measure == kMatchMeasure || measure == "selection_ratio" ||
         measure == "worst_group_accuracy" || audit.groups.find(measure) != nullptr;
}

// The rows that a figure comes from: those that are flipped, or those of compared groups.
Index rows_behind(const AttributeAudit& audit, const std::string& measure) {
  if (is_flip(measure)) return audit.flip ? audit.flip->units : 0;
  Index rows = 0;
  for (const Group& group : audit.groups.groups) rows += group.compared ? group.rows : 0;
  return rows;
}

}  // namespace

void require_limits(const Task& task) {
  for (const Limit& limit : task.limits) {
    (void)measure_named(limit.measure, "limit " + to_string(limit));
    const bool there = std::any_of(
        task.attributes.begin(), task.attributes.end(),
        [&](const AttributeSpec& spec) { return spec.name == limit.attribute; });
    if (limit.attribute.empty() || there) continue;
    throw Error(ErrorKind::bad_option,
                fmt::format("limit {}: {} is not an attribute of this audit",
                            to_string(limit), limit.attribute),
                "name it with --attribute too");
  }
}

LimitResult judge_limit(const AttributeAudit& audit, const Limit& limit) {
  LimitResult result;
  result.limit = limit;
  result.asked = limit.measure;
  const std::string known = measure_named(limit.measure, "limit " + to_string(limit));
  const std::string measure = judged_measure(audit, known);
  result.limit.measure = measure;
  result.limit.attribute = audit.name;
  if (!has_measure(audit, measure)) {
    result.reason = "not measured here";
  } else if (is_flip(measure)) {
    judge_flip(audit, result);
  } else if (measure == kMatchMeasure) {
    judge_match(audit, result);
  } else if (audit.groups.find(measure) != nullptr) {
    judge_groups(audit, result);
  } else {
    judge_whole(audit, result);
  }
  result.verdict = result.lines.empty() ? Verdict::unclear : Verdict::pass;
  for (const LimitLine& line : result.lines) {
    if (line.verdict == Verdict::fail) result.verdict = Verdict::fail;
    if (line.verdict == Verdict::unclear && result.verdict == Verdict::pass)
      result.verdict = Verdict::unclear;
  }
  if (const Index rows = rows_behind(audit, measure);
      result.verdict == Verdict::pass && rows < kLimitRows) {
    result.verdict = Verdict::unclear;
    result.reason = fmt::format("fewer than {} rows: never a pass", kLimitRows);
  }
  // Where another column still tells the attribute, a flip hides nothing from the model.
  if (is_flip(measure) && !audit.mirrors_left.empty() && result.verdict == Verdict::pass) {
    result.verdict = Verdict::unclear;
    result.reason = fmt::format("left_mirror: {}", fmt::join(audit.mirrors_left, ", "));
  }
  return result;
}

Verdict overall(const std::vector<LimitResult>& limits) {
  if (limits.empty()) return Verdict::none;
  Verdict verdict = Verdict::pass;
  for (const LimitResult& limit : limits) {
    if (limit.verdict == Verdict::fail) return Verdict::fail;
    if (limit.verdict == Verdict::unclear) verdict = Verdict::unclear;
  }
  return verdict;
}

}  // namespace fmd
