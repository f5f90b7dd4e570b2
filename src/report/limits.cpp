#include <fmt/format.h>

#include <algorithm>

#include "fmd/core/error.h"
#include "fmd/report/audit_report.h"

namespace fmd {
namespace {

const std::vector<std::string> kFlipMeasures = {"co", "co_tv", "co_worst", "co_large", "flip_rate"};
const std::vector<std::string> kGroupMeasures = {
    "demographic_parity",      "equal_opportunity",      "equalized_odds",
    "accuracy_difference",     "demographic_parity_soft", "equal_opportunity_soft"};

LimitLine flip_line(const AttributeAudit& audit, const std::string& measure) {
  const FlipReport& flip = *audit.flip;
  if (measure == "co_tv") return {"", flip.co_tv, Verdict::none};
  if (measure == "flip_rate") return {"", flip.flip_rate, Verdict::none};
  if (measure == "co_large") return {"", flip.co_large, Verdict::none};
  if (measure == "co_worst") {
    if (flip.worst < 0) return {};
    const FlipCell& cell = flip.cells[static_cast<std::size_t>(flip.worst)];
    return {audit.values[static_cast<std::size_t>(cell.from)] + " -> " +
                audit.values[static_cast<std::size_t>(cell.to)],
            cell.co, Verdict::none};
  }
  return {"", flip.co, Verdict::none};
}

void judge_groups(const AttributeAudit& audit, LimitResult& result) {
  const GroupMeasure* measure = audit.groups.find(result.limit.measure);
  if (measure == nullptr || !measure->reason.empty()) {
    result.reason = measure == nullptr ? "undefined" : measure->reason;
    result.verdict = Verdict::unclear;
    return;
  }
  for (const Comparison& comparison : measure->comparisons) {
    const std::string& about = audit.groups.groups[static_cast<std::size_t>(comparison.second)].value;
    const bool two_rates = result.limit.measure == "equalized_odds";
    result.lines.push_back({two_rates ? about + ", " + comparison.rate : about,
                            comparison.difference,
                            judge(comparison.difference, result.limit.value)});
  }
}

}  // namespace

const AttributeAudit* AuditReport::find(const std::string& attribute) const {
  for (const AttributeAudit& audit : attributes)
    if (audit.name == attribute) return &audit;
  return nullptr;
}

const std::vector<std::string>& limit_measures() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = kFlipMeasures;
    names.insert(names.end(), kGroupMeasures.begin(), kGroupMeasures.end());
    return names;
  }();
  return all;
}

LimitResult judge_limit(const AttributeAudit& audit, const Limit& limit) {
  const auto& known = limit_measures();
  if (std::find(known.begin(), known.end(), limit.measure) == known.end()) {
    throw Error(ErrorKind::bad_option,
                fmt::format("limit {}: unknown measure {}", to_string(limit), limit.measure),
                fmt::format("measures: {}", fmt::join(known, ", ")));
  }
  LimitResult result;
  result.limit = limit;
  result.limit.attribute = audit.name;
  const bool flip =
      std::find(kFlipMeasures.begin(), kFlipMeasures.end(), limit.measure) != kFlipMeasures.end();
  if (flip) {
    if (!audit.flip) {
      result.reason = audit.flip_reason;
      result.verdict = Verdict::unclear;
      return result;
    }
    LimitLine line = flip_line(audit, limit.measure);
    line.verdict = judge(line.interval, limit.value);
    result.lines.push_back(std::move(line));
  } else {
    judge_groups(audit, result);
  }
  if (result.lines.empty()) {
    result.verdict = Verdict::unclear;
    return result;
  }
  result.verdict = Verdict::pass;
  for (const LimitLine& line : result.lines) {
    if (line.verdict == Verdict::fail) result.verdict = Verdict::fail;
    if (line.verdict == Verdict::unclear && result.verdict == Verdict::pass)
      result.verdict = Verdict::unclear;
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
