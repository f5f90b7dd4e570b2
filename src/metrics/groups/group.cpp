#include "fmd/metrics/group.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/check.h"
#include "core/index.h"
#include "metrics/groups/common_figures.h"
#include "metrics/groups/group_figures.h"
#include "metrics/groups/group_rates.h"
#include "metrics/groups/score_figures.h"
#include "metrics/groups/soft_rates.h"
#include "metrics/groups/widest_pair.h"
#include "metrics/scores/scored_rows.h"

namespace fmd {
namespace {

// One rate of a measure, and the groups that are compared by it.
struct Part {
  const GroupRate* rate = nullptr;
  std::vector<int> groups;  // that have enough rows of the kind the rate is about
};

Comparison compare(const GroupRate& rate, int first, int second, double confidence) {
  return {first, second, rate.name, rate.difference(first, second, confidence)};
}

Interval turned(const Interval& difference) {
  return difference.value < 0 ? -difference : difference;
}

// Of equal sizes the one with the narrower interval is larger, so that the numbering of
// groups decides nothing.
bool smaller(const Comparison& a, const Comparison& b) {
  const Interval x = turned(a.difference), y = turned(b.difference);
  return std::tie(x.value, x.low, y.high) < std::tie(y.value, y.low, x.high);
}

void find_widest(const std::vector<Part>& parts, double confidence, GroupMeasure& measure) {
  for (const Part& part : parts) {
    const auto groups = static_cast<Index>(part.groups.size());
    measure.pairs += groups * (groups - 1) / 2;
  }
  const double adjusted = adjusted_confidence(confidence, measure.pairs);
  WidestPair widest(false);
  for (const Part& part : parts)
    for (std::size_t i = 0; i < part.groups.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        widest.add(compare(*part.rate, part.groups[j], part.groups[i], adjusted));
  measure.widest = widest.widest();
}

void against_reference(const std::vector<Part>& parts, int reference, double confidence,
                       GroupMeasure& measure) {
  Index comparisons = 0;
  for (const Part& part : parts) comparisons += static_cast<Index>(part.groups.size()) - 1;
  const double adjusted = adjusted_confidence(confidence, comparisons);
  for (const Part& part : parts)
    for (const int other : part.groups)
      if (other != reference)
        measure.comparisons.push_back(compare(*part.rate, reference, other, adjusted));
  measure.farthest = static_cast<int>(
      std::max_element(measure.comparisons.begin(), measure.comparisons.end(), smaller) -
      measure.comparisons.begin());
}

// Fills a measure from its rates, or says why it is undefined.
GroupMeasure make_measure(const std::string& name,
                          const std::vector<const GroupRate*>& rates,
                          const GroupReport& report, double confidence) {
  GroupMeasure measure;
  measure.name = name;
  std::vector<Part> parts;
  for (const GroupRate* rate : rates) {
    Part part{rate, {}};
    for (int g = 0; g < static_cast<int>(report.groups.size()); ++g)
      if (rate->enough(g)) part.groups.push_back(g);
    if (!rate->reason.empty()) {
      measure.reason = rate->reason;
    } else if (part.groups.size() < 2) {
      measure.reason = "fewer than two groups have " + rate->needs;
    } else if (report.named && !rate->enough(report.reference)) {
      measure.reason = fmt::format("the reference group {} does not have {}",
                                   report.groups[at(report.reference)].value, rate->needs);
    }
    if (!measure.reason.empty()) return measure;
    parts.push_back(std::move(part));
  }
  const bool compared = std::all_of(rates.begin(), rates.end(), [&](const GroupRate* rate) {
    return rate->enough(report.reference);
  });
  if (compared) against_reference(parts, report.reference, confidence, measure);
  find_widest(parts, confidence, measure);
  measure.value =
      report.named ? turned(measure.behind_value()->difference) : measure.widest.difference;
  return measure;
}

void set_ratio(const GroupRate& selection, double confidence, GroupReport& report) {
  std::vector<int> groups;
  for (int g = 0; g < static_cast<int>(report.groups.size()); ++g)
    if (selection.enough(g)) groups.push_back(g);
  if (groups.size() < 2 || !selection.reason.empty()) return;
  const auto count = static_cast<Index>(groups.size());
  const double adjusted = adjusted_confidence(confidence, count * (count - 1) / 2);
  WidestPair widest(true);
  for (const int i : groups)
    for (const int j : groups) {
      if (j >= i) break;
      // The smaller rate first: 0 of it is a ratio of 0, not an undefined one.
      const bool less = selection.value(i) <= selection.value(j);
      const RateCount &k = selection.counts[at(less ? i : j)],
                      &n = selection.counts[at(less ? j : i)];
      widest.add({less ? j : i, less ? i : j, selection.name,
                  effective_ratio(k.hits, k.of, n.hits, n.of, adjusted)});
    }
  report.selection_ratio = widest.widest().difference;
}

// The least accurate group. Its interval is that of the least accuracy of any group: the
// smallest ends over all groups, each adjusted for their number.
void set_worst_group(const GroupRate& accuracy, double confidence, GroupReport& report) {
  if (!accuracy.reason.empty()) return;
  std::vector<int> groups;
  for (int g = 0; g < static_cast<int>(report.groups.size()); ++g)
    if (accuracy.enough(g)) groups.push_back(g);
  Interval& worst = report.worst_group_accuracy;
  for (const int g : groups) {
    const RateCount& count = accuracy.counts[at(g)];
    const Interval here = effective_wilson(
        count.hits, count.of, adjusted_confidence(confidence, std::ssize(groups)));
    if (report.worst_group < 0) worst = here;
    if (report.worst_group < 0 || here.value < worst.value) report.worst_group = g;
    worst = {std::min(worst.value, here.value), std::min(worst.low, here.low),
             std::min(worst.high, here.high), here.kind};
  }
}

int reference_of(const std::vector<Group>& groups, const GroupOptions& options) {
  const int count = static_cast<int>(groups.size());
  require_option(options.reference >= -1 && options.reference < count, "group_report",
                 "reference", options.reference,
                 fmt::format("a value below {}, or -1", count));
  require_option(options.usual >= -1 && options.usual < count, "group_report", "usual",
                 options.usual, fmt::format("a value below {}, or -1", count));
  if (options.reference >= 0) return options.reference;
  if (options.usual >= 0) return options.usual;
  int largest = -1;
  for (int g = 0; g < count; ++g)
    if (groups[at(g)].compared &&
        (largest < 0 || groups[at(g)].rows > groups[at(largest)].rows))
      largest = g;
  return largest;
}

}  // namespace

const Comparison* GroupMeasure::behind_value() const {
  return farthest < 0 ? nullptr : &comparisons[at(farthest)];
}

const GroupMeasure* GroupReport::find(const std::string& measure) const {
  for (const GroupMeasure& m : measures)
    if (m.name == measure) return &m;
  return nullptr;
}

GroupReport group_report(const Tally& tally, std::span<const Index> attributes,
                         const std::string& name, const std::vector<std::string>& values,
                         const GroupOptions& options, const Exec& exec) {
  GroupReport report;
  report.attribute = name;
  const std::vector<GroupTally> groups =
      tally.groups(attributes, &report.rows_without_group);
  require_size("group_report", "values", static_cast<Index>(values.size()),
               static_cast<Index>(groups.size()));
  const GroupRates rates =
      count_rates(tally.plan(), groups, values, options, report.groups);
  report.reference = reference_of(report.groups, options);
  report.named = options.reference >= 0;
  const SoftRates soft =
      soft_rates(tally, attributes, groups, values, rates, options, exec);

  const double confidence = options.confidence;
  const auto add = [&](const std::string& measure,
                       const std::vector<const GroupRate*>& parts) {
    report.measures.push_back(make_measure(measure, parts, report, confidence));
  };
  add("demographic_parity", {&rates.selection});
  add("equal_opportunity", {&rates.tpr});
  add("equalized_odds", {&rates.tpr, &rates.fpr});
  add("accuracy_difference", {&rates.accuracy});
  add("demographic_parity_soft", {&soft.all});
  add("equal_opportunity_soft", {&soft.positives});
  set_ratio(rates.selection, confidence, report);
  set_worst_group(rates.accuracy, confidence, report);
  if (options.by_name) add_figures(tally, attributes, groups, options, exec, report);
  return report;
}

GroupReport group_report(const Scored& scored, const std::string& attribute,
                         const std::vector<std::string>& values,
                         const std::vector<std::int32_t>& code, const GroupOptions& options,
                         const Exec& exec) {
  require_scored("group_report", scored);
  require_codes("group_report", code, scored.rows(), static_cast<Index>(values.size()));
  ScoredBlock block = block_of(scored);
  block.code = {code};
  const TallyPlan plan{.classes = block.classes,
                       .favorable = scored.favorable,
                       .values = {static_cast<Index>(values.size())},
                       .labelled = scored.labelled(),
                       .weighted = !scored.weight.empty()};
  const Index all[] = {0};
  return group_report(tally(plan, block, exec), all, attribute, values, options, exec);
}

const std::vector<std::string>& group_measure_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = {"demographic_parity",      "equal_opportunity",
                                      "equalized_odds",          "accuracy_difference",
                                      "demographic_parity_soft", "equal_opportunity_soft"};
    for (const CriterionInfo& criterion : group_criteria())
      names.emplace_back(criterion.name);
    for (const char* name : kCommonFigures) names.emplace_back(name);
    for (const char* name : kScoreFigures) names.emplace_back(name);
    return names;
  }();
  return all;
}

}  // namespace fmd
