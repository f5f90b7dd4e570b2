#include "fmd/metrics/group.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "metrics/group_rates.h"
#include "metrics/scored_rows.h"

namespace fmd {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// A measure before it is worked out: rates to compare, and who takes part in each.
struct Part {
  const Rate* rate = nullptr;
  std::vector<int> groups;  // that have enough rows of the kind the rate is about
};

double difference(const Rate& rate, int first, int second) {
  return rate.value(first) - rate.value(second);
}

Comparison compare(const Rate& rate, int first, int second, double confidence) {
  return {first, second, rate.name, rate.difference(first, second, confidence)};
}

// The widest pair over all parts, turned to be positive.
void find_widest(const std::vector<Part>& parts, double confidence, GroupMeasure& measure) {
  const Part* part = nullptr;
  int first = -1, second = -1;
  double widest = -1;
  for (const Part& p : parts) {
    const auto groups = static_cast<Index>(p.groups.size());
    measure.pairs += groups * (groups - 1) / 2;
    for (std::size_t i = 0; i < p.groups.size(); ++i) {
      for (std::size_t j = i + 1; j < p.groups.size(); ++j) {
        const double gap = difference(*p.rate, p.groups[i], p.groups[j]);
        if (!(std::abs(gap) > widest)) continue;
        widest = std::abs(gap);
        part = &p;
        first = gap >= 0 ? p.groups[i] : p.groups[j];
        second = gap >= 0 ? p.groups[j] : p.groups[i];
      }
    }
  }
  measure.widest =
      compare(*part->rate, first, second, adjusted_confidence(confidence, measure.pairs));
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
  const auto largest =
      std::max_element(measure.comparisons.begin(), measure.comparisons.end(),
                       [](const auto& a, const auto& b) {
                         return std::abs(a.difference.value) < std::abs(b.difference.value);
                       });
  measure.value =
      largest->difference.value < 0 ? -largest->difference : largest->difference;
}

// Fills a measure from the rates it is made of, or says why it cannot be.
GroupMeasure make_measure(const std::string& name, const std::vector<const Rate*>& rates,
                          const GroupReport& report, double confidence) {
  GroupMeasure measure;
  measure.name = name;
  std::vector<Part> parts;
  for (const Rate* rate : rates) {
    Part part{rate, {}};
    for (int g = 0; g < static_cast<int>(report.groups.size()); ++g)
      if (rate->enough(g)) part.groups.push_back(g);
    if (!rate->reason.empty()) {
      measure.reason = rate->reason;
    } else if (part.groups.size() < 2) {
      measure.reason = "fewer than two groups have " + rate->needs;
    } else if (!rate->enough(report.reference)) {
      measure.reason = fmt::format("the reference group {} does not have {}",
                                   report.groups[at(report.reference)].value, rate->needs);
    }
    if (!measure.reason.empty()) return measure;
    parts.push_back(std::move(part));
  }
  against_reference(parts, report.reference, confidence, measure);
  find_widest(parts, confidence, measure);
  return measure;
}

void set_ratio(const Rate& selection, double confidence, GroupReport& report) {
  int lowest = -1, highest = -1;
  Index compared = 0;
  for (int g = 0; g < static_cast<int>(report.groups.size()); ++g) {
    if (!selection.enough(g) || !selection.reason.empty()) continue;
    ++compared;
    if (lowest < 0 || selection.value(g) < selection.value(lowest)) lowest = g;
    if (highest < 0 || selection.value(g) > selection.value(highest)) highest = g;
  }
  if (compared < 2) return;
  // All rates equal: any other group stands for the lowest.
  for (int g = 0; lowest == highest; ++g)
    if (g != highest && selection.enough(g)) lowest = g;
  const RateCount& low = selection.counts[at(lowest)];
  const RateCount& high = selection.counts[at(highest)];
  report.selection_ratio =
      rate_ratio(low.hits, low.of, high.hits, high.of,
                 adjusted_confidence(confidence, compared * (compared - 1) / 2));
}

void set_worst_group(const Rate& accuracy, GroupReport& report) {
  if (!accuracy.reason.empty()) return;
  for (int g = 0; g < static_cast<int>(report.groups.size()); ++g) {
    if (!accuracy.enough(g)) continue;
    const Interval& here = report.groups[at(g)].accuracy;
    if (report.worst_group >= 0 && here.value >= report.worst_group_accuracy.value)
      continue;
    report.worst_group = g;
    report.worst_group_accuracy = here;
  }
}

int reference_of(const std::vector<Group>& groups, const GroupOptions& options) {
  const int count = static_cast<int>(groups.size());
  require_option(options.reference >= -1 && options.reference < count, "group_report",
                 "reference", options.reference,
                 fmt::format("a value below {}, or -1", count));
  if (options.reference >= 0) return options.reference;
  int largest = -1;
  for (int g = 0; g < count; ++g)
    if (groups[at(g)].compared &&
        (largest < 0 || groups[at(g)].rows > groups[at(largest)].rows))
      largest = g;
  return largest;
}

}  // namespace

const GroupMeasure* GroupReport::find(const std::string& measure) const {
  for (const GroupMeasure& m : measures)
    if (m.name == measure) return &m;
  return nullptr;
}

GroupReport group_report(const Scored& scored, const std::string& attribute,
                         const std::vector<std::string>& values,
                         const std::vector<std::int32_t>& code, const GroupOptions& options,
                         const Exec& exec) {
  require_scored("group_report", scored);
  require_codes("group_report", code, scored.rows(), static_cast<Index>(values.size()));
  GroupReport report;
  report.attribute = attribute;
  report.rows_without_group = std::count(code.begin(), code.end(), -1);
  const Rates rates = count_rates(scored, values, code, options, report.groups);
  report.reference = reference_of(report.groups, options);
  const SoftRates soft = soft_rates(scored, values, code, rates, options, exec);

  const double confidence = options.confidence;
  const auto add = [&](const std::string& name, const std::vector<const Rate*>& parts) {
    report.measures.push_back(make_measure(name, parts, report, confidence));
  };
  add("demographic_parity", {&rates.selection});
  add("equal_opportunity", {&rates.tpr});
  add("equalized_odds", {&rates.tpr, &rates.fpr});
  add("accuracy_difference", {&rates.accuracy});
  add("demographic_parity_soft", {&soft.all});
  add("equal_opportunity_soft", {&soft.positives});
  set_ratio(rates.selection, confidence, report);
  set_worst_group(rates.accuracy, report);
  return report;
}

}  // namespace fmd
