#include "report/limit_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/text.h"

namespace fmd::internal {

std::string no_flip_words(const std::string& reason) {
  if (reason == "not_an_input")
    return "not read by the model: no flip test; see the groups";
  if (reason == "ranges_of_a_number")
    return "ranges of a number have no single value to flip to: no flip test";
  return "no pairs were given: no flip test";
}

std::string reason_words(const std::string& reason) {
  if (reason == "not_an_input") return "not read by the model: never a pass";
  if (reason == "ranges_of_a_number") return "ranges are not flipped";
  return reason;
}

std::string limit_words(const LimitResult& limit) {
  return fmt::format("{}:{} {} {}", limit.limit.measure, limit.limit.attribute,
                     is_floor(limit.limit.measure) ? ">=" : "<=",
                     text::bare(limit.limit.value, limit.limit.value < 0.001 ? 6 : 3));
}

std::string shout(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "PASS";
    case Verdict::fail:
      return "FAIL";
    case Verdict::unclear:
      return "NOT ENOUGH";
    case Verdict::none:
      break;
  }
  return "none";
}

std::string verdict_words(const AuditReport& report) {
  Index failed = 0, unclear = 0;
  for (const LimitResult& limit : report.limits) {
    failed += limit.verdict == Verdict::fail;
    unclear += limit.verdict == Verdict::unclear;
  }
  std::string out =
      fmt::format("{}, {} {}, {} failed", shout(report.verdict), report.limits.size(),
                  report.limits.size() == 1 ? "limit" : "limits", failed);
  if (unclear > 0) out += fmt::format(", {} without enough evidence", unclear);
  return out;
}

bool is_shown(const AuditReport& report, const AuditFigure& figure) {
  const AttributeAudit* audit = report.find(figure.attribute);
  const GroupMeasure* measure =
      audit == nullptr ? nullptr : audit->groups.find(figure.measure);
  if (measure == nullptr || !measure->by_name) return true;
  return std::find(report.shown.begin(), report.shown.end(), figure.measure) !=
         report.shown.end();
}

std::string pairing_words(const AuditChanges& changes) {
  if (changes.paired) return "both models on these rows, paired";
  return changes.same_data ? "same rows, not paired: the previous model is not given"
                           : "other rows: not paired";
}

}  // namespace fmd::internal
