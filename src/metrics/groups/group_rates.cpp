#include "metrics/groups/group_rates.h"

#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "fmd/metrics/bca.h"
#include "metrics/statistics/from_spread.h"

namespace fmd::internal {
namespace {

// With fewer replicates in a tail, its end is taken from their spread.
constexpr double kTailReplicates = 5;

GroupRate named(const char* name, std::string reason, std::string needs,
                std::size_t groups) {
  GroupRate rate;
  rate.name = name;
  rate.reason = std::move(reason);
  rate.needs = std::move(needs);
  rate.counts.resize(groups);
  rate.large.resize(groups);
  return rate;
}

GroupRates empty_rates(const TallyPlan& plan, const GroupOptions& o, std::size_t groups) {
  const std::string unlabelled = plan.labelled ? "" : "no labels";
  const std::string unnamed = plan.favorable < 0 ? "no favourable class" : "";
  const std::string both = unnamed.empty() ? unlabelled : unnamed;
  return {
      named("selection_rate", unnamed, fmt::format(">= {} rows", o.min_rows), groups),
      named("tpr", both,
            fmt::format(">= {} rows and >= {} favourable labels", o.min_rows, o.min_label),
            groups),
      named(
          "fpr", both,
          fmt::format(">= {} rows and >= {} unfavourable labels", o.min_rows, o.min_label),
          groups),
      named("accuracy", unlabelled, fmt::format(">= {} labelled rows", o.min_rows),
            groups)};
}

// A group's rows by label: favourable, unfavourable, both, and all rows.
struct Labels {
  LabelTally positive, negative, known, all;
};

Labels labels_of(const GroupTally& group, int favorable) {
  Labels labels;
  for (std::size_t k = 0; k < group.label.size(); ++k)
    (static_cast<int>(k) == favorable ? labels.positive : labels.negative)
        .add(group.label[k]);
  labels.known = group.known();
  labels.all = group.all();
  if (favorable < 0) labels.negative = {};
  return labels;
}

Group describe(const std::string& value, std::size_t g, const Labels& labels,
               const GroupRates& rates, double confidence) {
  const auto interval = [&](const GroupRate& rate) {
    const RateCount& count = rate.counts[g];
    return rate.reason.empty() ? effective_wilson(count.hits, count.of, confidence)
                               : Interval{};
  };
  Group group;
  group.value = value;
  group.rows = labels.all.rows;
  group.effective_rows = rates.selection.counts[g].of;
  group.positives = labels.positive.rows;
  group.negatives = labels.negative.rows;
  group.selection_rate = interval(rates.selection);
  group.tpr = interval(rates.tpr);
  group.fpr = interval(rates.fpr);
  group.accuracy = interval(rates.accuracy);
  return group;
}

}  // namespace

double GroupRate::value(int group) const {
  if (means.size() > 0) return means(group);
  const RateCount& count = counts[at(group)];
  return count.hits / count.of;
}

Interval GroupRate::difference(int first, int second, double confidence) const {
  if (means.size() == 0) {
    const RateCount &a = counts[at(first)], &b = counts[at(second)];
    return effective_newcombe(a.hits, a.of, b.hits, b.of, confidence);
  }
  std::vector<double> values(at(replicates.cols()));
  for (Index r = 0; r < replicates.cols(); ++r)
    values[at(r)] = replicates(first, r) - replicates(second, r);
  const double gap = value(first) - value(second);
  const double tail = static_cast<double>(values.size()) * (1 - confidence) / 2;
  if (tail < kTailReplicates) return from_spread(gap, values, confidence);
  const double acceleration =
      mean_acceleration(squares(first) + squares(second), cubes(first) - cubes(second));
  return bootstrap_interval(gap, std::move(values), acceleration, confidence, intervals);
}

GroupRates count_rates(const TallyPlan& plan, const std::vector<GroupTally>& tallies,
                       const std::vector<std::string>& values, const GroupOptions& options,
                       std::vector<Group>& groups) {
  GroupRates rates = empty_rates(plan, options, values.size());
  const auto least = static_cast<double>(options.min_rows);
  const auto least_label = static_cast<double>(options.min_label);
  for (std::size_t g = 0; g < values.size(); ++g) {
    const Labels l = labels_of(tallies[g], plan.favorable);
    const auto chosen = [](const LabelTally& t) {
      return effective(t.weight_chosen, t.weight, t.weight_squares);
    };
    rates.selection.counts[g] = chosen(l.all);
    rates.tpr.counts[g] = chosen(l.positive);
    rates.fpr.counts[g] = chosen(l.negative);
    rates.accuracy.counts[g] =
        effective(l.known.weight_right, l.known.weight, l.known.weight_squares);
    Group group = describe(values[g], g, l, rates, options.confidence);
    group.compared = group.effective_rows > 0 && group.effective_rows >= least;
    if (plan.favorable >= 0 && l.all.weight > 0)
      group.mean_score = l.all.score / l.all.weight;
    const auto enough = [&](const GroupRate& rate, double needed) {
      return group.compared && rate.counts[g].of > 0 && rate.counts[g].of >= needed;
    };
    rates.selection.large[g] = group.compared;
    rates.tpr.large[g] = enough(rates.tpr, least_label);
    rates.fpr.large[g] = enough(rates.fpr, least_label);
    rates.accuracy.large[g] = enough(rates.accuracy, least);
    groups.push_back(std::move(group));
  }
  return rates;
}

}  // namespace fmd::internal
