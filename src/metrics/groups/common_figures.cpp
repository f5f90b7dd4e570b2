#include "metrics/groups/common_figures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/metrics/bca.h"
#include "fmd/metrics/entropy.h"
#include "fmd/metrics/intersectional.h"
#include "fmd/metrics/spurious.h"
#include "metrics/groups/confusion_counts.h"
#include "metrics/groups/widest_pair.h"
#include "metrics/statistics/rate_count.h"

namespace fmd::internal {
namespace {

using Tables = std::vector<Confusion>;

DifferentialFairness selection_fairness(const Tables& groups) {
  std::vector<std::vector<double>> counts;
  for (const Confusion& c : groups)
    counts.push_back({c.rows() - c.selected(), c.selected()});
  return differential_fairness(counts);
}

double between(const Tables& groups) {
  std::vector<std::vector<Benefit>> all;
  for (const Confusion& c : groups) all.push_back(benefits(c));
  return between_group_entropy(all);
}

// The value, with the interval from the figures of resampled groups.
Interval bootstrapped(const std::vector<CountedGroup>& counts,
                      const std::vector<int>& groups,
                      const std::function<double(const Tables&)>& figure, double confidence,
                      Bootstrap intervals) {
  Tables tables;
  for (const int g : groups) tables.push_back(counts[at(g)].sums);
  const double value = figure(tables);
  const std::size_t replicates = counts[at(groups[0])].replicates.size();
  if (replicates == 0) return {value, kUndefined, kUndefined};
  std::vector<double> values(replicates);
  for (std::size_t r = 0; r < replicates; ++r) {
    for (std::size_t k = 0; k < groups.size(); ++k)
      tables[k] = counts[at(groups[k])].replicates[r];
    values[r] = figure(tables);
  }
  double acceleration = 0;
  if (intervals == Bootstrap::bca) {
    std::vector<const Confusion*> whole;
    for (const int g : groups) whole.push_back(&counts[at(g)].whole);
    acceleration = table_acceleration(whole, figure);
  }
  return bootstrap_interval(value, std::move(values), acceleration, confidence, intervals);
}

// Selected rows of a group, as a number of rows that all count the same.
RateCount counted(const RateInfo& rate, const CountedGroup& c) {
  const Share share = rate.share(c.sums);
  return effective(share.hits, share.of, rate.share(c.squares).of);
}

Interval with_ends(double value, const Interval& ends) {
  return {value, std::min(value, ends.low), std::max(value, ends.high),
          IntervalKind::newcombe};
}

// ln of the smoothed share of an outcome, with the ends of its Wilson interval.
Interval log_share(double hits, double rows, double confidence) {
  constexpr double kAlpha = 0.5;  // as differential_fairness() smooths
  const auto log_of = [&](double share) {
    return std::log((share * rows + kAlpha) / (rows + 2 * kAlpha));
  };
  const Interval wilson = effective_wilson(hits, rows, confidence);
  return {log_of(wilson.value), log_of(wilson.low), log_of(wilson.high)};
}

// The largest |ln ratio| of any pair and outcome; ends of a difference in Newcombe's way.
Interval fairness_interval(const std::vector<CountedGroup>& counts,
                           const std::vector<int>& groups, double value,
                           double confidence) {
  const auto count = static_cast<Index>(groups.size());
  const double adjusted = adjusted_confidence(confidence, count * (count - 1));
  const RateInfo& selected = *find_rate("selection_rate");
  WidestPair widest(false);
  for (const bool chosen : {true, false}) {
    std::vector<Interval> logs;
    for (const int g : groups) {
      const RateCount c = counted(selected, counts[at(g)]);
      logs.push_back(log_share(chosen ? c.hits : c.of - c.hits, c.of, adjusted));
    }
    for (std::size_t i = 0; i < logs.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const Interval &a = logs[i], &b = logs[j];
        const double d = a.value - b.value;
        widest.add(
            {static_cast<int>(j),
             static_cast<int>(i),
             "",
             {d, d - std::hypot(a.value - a.low, b.high - b.value),
              d + std::hypot(a.high - a.value, b.value - b.low), IntervalKind::newcombe}});
      }
  }
  return with_ends(value, widest.widest().difference);
}

// Each group against all other rows: rate - rate of all = (1 - part) (rate - rate of the
// others).
Interval subgroup_interval(const RateInfo& rate, const std::vector<CountedGroup>& counts,
                           const std::vector<int>& groups, double value,
                           double confidence) {
  Confusion sums, squares;
  for (const int g : groups) {
    sums.add(counts[at(g)].sums);
    squares.add(counts[at(g)].squares);
  }
  const Share all = rate.share(sums);
  const double adjusted = adjusted_confidence(confidence, std::ssize(groups));
  WidestPair widest(false);
  for (const int g : groups) {
    const CountedGroup& own = counts[at(g)];
    const Share share = rate.share(own.sums);
    const double of_squares = rate.share(own.squares).of;
    const RateCount here = effective(share.hits, share.of, of_squares);
    const RateCount others = effective(all.hits - share.hits, all.of - share.of,
                                       rate.share(squares).of - of_squares);
    if (here.of <= 0 || others.of <= 0) continue;
    const Interval gap =
        effective_newcombe(here.hits, here.of, others.hits, others.of, adjusted);
    const double factor = share.of / sums.rows() * (1 - share.of / all.of);
    widest.add(
        {0, g, "", {factor * gap.value, factor * gap.low, factor * gap.high, gap.kind}});
  }
  return with_ends(value, widest.widest().difference);
}

// Cells with fewer than min_label rows are left out.
LabelAttributeTable cells_of(const std::vector<GroupTally>& tallies,
                             const std::vector<int>& groups, Index min_label) {
  LabelAttributeTable table;
  table.labels = static_cast<Index>(tallies[0].label.size());
  table.attributes = static_cast<Index>(groups.size());
  for (std::size_t y = 0; y < at(table.labels); ++y) {
    for (const int g : groups) {
      const LabelTally& l = tallies[at(g)].label[y];
      table.cells.push_back(l.rows < std::max<Index>(1, min_label)
                                ? Share{}
                                : Share{l.weight_right, l.weight});
    }
  }
  return table;
}

struct Adder {
  GroupReport& report;

  void operator()(const char* name, const Interval& value, std::string reason,
                  std::string about = "") const {
    GroupMeasure measure;
    measure.name = name;
    measure.value = value;
    measure.reason = std::move(reason);
    if (measure.reason.empty() && !value.defined())
      measure.reason = "no rows of the kind that it needs";
    measure.by_name = true;
    measure.about = std::move(about);
    report.measures.push_back(std::move(measure));
  }
};

void add_accuracies(const std::vector<GroupTally>& tallies, std::vector<int> groups,
                    const std::string& reason, const GroupOptions& options,
                    const Adder& add, const GroupReport& report) {
  if (!reason.empty()) {
    for (const char* name : {"worst_cell_accuracy", "unbiased_accuracy", "aligned_accuracy",
                             "conflicting_accuracy"})
      add(name, {}, reason);
    add("aligned_gap", {}, reason);
    return;
  }
  // Among equal cells the first one is taken: that of the largest group, however groups are
  // numbered.
  std::sort(groups.begin(), groups.end(), [&](int a, int b) {
    const Group &x = report.groups[at(a)], &y = report.groups[at(b)];
    return std::tie(y.rows, x.value) < std::tie(x.rows, y.value);
  });
  const LabelAttributeTable table = cells_of(tallies, groups, options.min_label);
  const WorstCell worst = worst_cell(table, options.confidence);
  std::vector<double> rows;
  for (const Share& cell : table.cells) rows.push_back(cell.of);
  const AlignedAccuracy aligned = aligned_accuracy(
      table, aligned_attributes(table.labels, table.attributes, rows), options.confidence);
  const std::string whom =
      worst.label < 0 ? ""
                      : fmt::format("label {} of {}", worst.label,
                                    report.groups[at(groups[at(worst.attribute)])].value);
  add("worst_cell_accuracy", worst.accuracy, "", whom);
  add("unbiased_accuracy", unbiased_accuracy(table, options.confidence), "");
  add("aligned_accuracy", aligned.aligned, "");
  add("conflicting_accuracy", aligned.conflicting, "");
  add("aligned_gap", aligned.gap, "");
}

}  // namespace

void add_common_figures(const std::vector<GroupTally>& tallies,
                        const std::vector<CountedGroup>& counts,
                        const std::vector<int>& groups, const FigureRules& rules,
                        const GroupOptions& options, GroupReport& report) {
  const Adder add{report};
  const auto reason = [&](const char* rate) {
    const std::string rule = rules.reason(rate);
    if (!rule.empty() || groups.size() >= 2) return rule;
    return fmt::format("fewer than two groups have >= {} rows", options.min_rows);
  };
  const auto figure = [&](const char* name, const char* rate,
                          const std::function<double(const Tables&)>& of,
                          std::string about = "") {
    const std::string why = reason(rate);
    add(name,
        why.empty()
            ? bootstrapped(counts, groups, of, options.confidence, options.intervals)
            : Interval{},
        why, std::move(about));
  };
  std::string pair;
  if (reason("selection_rate").empty()) {
    Tables tables;
    for (const int g : groups) tables.push_back(counts[at(g)].sums);
    const DifferentialFairness d = selection_fairness(tables);
    if (d.first >= 0)
      pair = fmt::format("{} - {}", report.groups[at(groups[at(d.first)])].value,
                         report.groups[at(groups[at(d.second)])].value);
  }
  // Sizes of several groups: their samples show more than there is, and resampling adds to
  // it. Where the ends of all pairs or groups can be put together they are.
  const auto size = [&](const char* name, const char* rate, auto value, auto interval,
                        std::string about = "") {
    const std::string why = reason(rate);
    if (!why.empty()) return add(name, {}, why, std::move(about));
    Tables tables;
    for (const int g : groups) tables.push_back(counts[at(g)].sums);
    add(name, interval(value(tables)), "", std::move(about));
  };
  const auto no_ends = [](double value) { return Interval{value, kUndefined, kUndefined}; };
  size(
      "differential_fairness", "selection_rate",
      [](const Tables& t) { return selection_fairness(t).epsilon; },
      [&](double value) {
        return fairness_interval(counts, groups, value, options.confidence);
      },
      pair);
  size(
      "bias_amplification", nullptr,
      [](const Tables& t) { return bias_amplification(t).amplification; }, no_ends);
  const auto subgroup = [&](const char* name, const char* needs, const char* rate) {
    size(
        name, needs,
        [&](const Tables& t) { return subgroup_fairness(*find_rate(rate), t).value; },
        [&](double value) {
          return subgroup_interval(*find_rate(rate), counts, groups, value,
                                   options.confidence);
        });
  };
  subgroup("subgroup_selection", "selection_rate", "selection_rate");
  subgroup("subgroup_fpr", nullptr, "fpr");
  figure("generalized_entropy", nullptr,
         [](const Tables& t) { return generalized_entropy(benefits(together(t))); });
  size("between_group_entropy", nullptr, between, no_ends);
  figure("theil_index", nullptr,
         [](const Tables& t) { return theil_index(benefits(together(t))); });
  add_accuracies(tallies, groups, reason("accuracy"), options, add, report);
}

}  // namespace fmd::internal
