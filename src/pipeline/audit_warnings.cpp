#include "pipeline/audit_warnings.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

// Fewer copies than this share of the rows change no interval that anybody would see.
constexpr double kFewCopies = 0.01;

// "" = nothing to say.
std::string constant_answer(const WarningFacts& facts) {
  const TallyPlan& plan = facts.tally.plan();
  if (plan.favorable < 0 || facts.tally.rows() == 0) return "";
  const LabelTally all = facts.tally.groups({})[0].all();
  if (all.chosen == all.rows) return "every row gets the favourable answer";
  if (all.chosen == 0 && plan.classes == 2) return "no row gets the favourable answer";
  return "";
}

std::string other_threshold(const WarningFacts& facts, const AuditReport& report) {
  if (std::isnan(facts.model_threshold) || !report.task.binary() ||
      facts.model_threshold == report.task.threshold)
    return "";
  return fmt::format("decided at p >= {:.4g}, the model decides at p >= {:.4g}",
                     report.task.threshold, facts.model_threshold);
}

std::string seen_in_training(const AuditReport& report) {
  const double chance = report.seen_by_chance;
  if (static_cast<double>(report.seen) <= chance + 4 * std::sqrt(chance + 1)) return "";
  return fmt::format("{} of {} rows equal a training row, about {:.0f} by chance",
                     report.seen, report.rows, chance);
}

std::string copied_rows(const WarningFacts& facts) {
  const auto rows = static_cast<double>(facts.rows.rows());
  if (const Index times = facts.rows.times(); times > 1)
    return fmt::format("every row stands there {} times, or a multiple of it", times);
  if (facts.trained_on == 0 || rows == 0) return "";
  // With more rows than in training, more of them have a twin.
  const double growth = std::max(
      1.0, static_cast<double>(facts.tally.rows()) / static_cast<double>(facts.trained_on));
  const double chance = std::min(1.0, facts.training_twins * growth) * rows;
  const auto twins = static_cast<double>(facts.rows.twins());
  if (twins <= chance + 4 * std::sqrt(chance + 1) || twins <= kFewCopies * rows) return "";
  return fmt::format(
      "{:.1f} % of the rows equal another row, {:.1f} % of the training rows",
      100 * twins / rows, 100 * facts.training_twins);
}

// Each group has one label, and there are several labels.
bool tells_label(const std::vector<GroupTally>& groups) {
  std::vector<bool> found;
  Index rows = 0;
  for (const GroupTally& group : groups) {
    found.resize(group.label.size());
    Index labels = 0;
    for (std::size_t y = 0; y < group.label.size(); ++y) {
      if (group.label[y].rows == 0) continue;
      found[y] = true;
      rows += group.label[y].rows;
      ++labels;
    }
    if (labels > 1) return false;
  }
  return rows >= kLimitRows && std::count(found.begin(), found.end(), true) > 1;
}

std::string label_is_attribute(const WarningFacts& facts, const AuditReport& report) {
  for (std::size_t a = 0; a < report.attributes.size(); ++a) {
    const Index alone[] = {static_cast<Index>(a)};
    if (tells_label(facts.tally.groups(alone)))
      return fmt::format("{} tells the label of every row", report.attributes[a].name);
  }
  return "";
}

}  // namespace

void add_warnings(const WarningFacts& facts, const std::vector<std::string>& allow,
                  AuditReport& report) {
  const auto add = [&](const char* name, std::string text) {
    const bool allowed = std::find(allow.begin(), allow.end(), name) != allow.end();
    if (!text.empty()) report.warnings.push_back({name, std::move(text), allowed});
  };
  add("constant_answer", constant_answer(facts));
  add("other_threshold", other_threshold(facts, report));
  add("seen_in_training", seen_in_training(report));
  add("copied_rows", copied_rows(facts));
  add("label_is_attribute", label_is_attribute(facts, report));
  std::string names;
  for (const AuditWarning& warning : report.warnings)
    if (!warning.allowed) names += (names.empty() ? "" : ", ") + warning.name;
  if (names.empty()) return;
  for (LimitResult& limit : report.limits) {
    if (limit.verdict != Verdict::pass) continue;
    limit.verdict = Verdict::unclear;
    limit.reason = "no pass because of " + names;
    for (LimitLine& line : limit.lines)
      if (line.verdict == Verdict::pass) line.verdict = Verdict::unclear;
  }
  if (report.verdict == Verdict::pass) report.verdict = Verdict::unclear;
}

void require_warnings(const std::vector<std::string>& names) {
  const std::vector<std::string>& known = audit_warning_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = nearest_word(name, known);
    throw Error(ErrorKind::bad_option,
                fmt::format("allow: there is no warning {}", shorten(name)),
                fmt::format("{}warnings: {}",
                            nearest.empty() ? "" : "did you mean " + nearest + "? ",
                            fmt::join(known, ", ")));
  }
}

}  // namespace fmd::internal
