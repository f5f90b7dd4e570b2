#include "metrics/groups/common_figures.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/metrics/bca.h"
#include "fmd/metrics/entropy.h"
#include "fmd/metrics/intersectional.h"
#include "fmd/metrics/spurious.h"
#include "metrics/groups/confusion_counts.h"

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
  figure(
      "differential_fairness", "selection_rate",
      [](const Tables& t) { return selection_fairness(t).epsilon; }, pair);
  figure("bias_amplification", nullptr,
         [](const Tables& t) { return bias_amplification(t).amplification; });
  figure("subgroup_selection", "selection_rate", [](const Tables& t) {
    return subgroup_fairness(*find_rate("selection_rate"), t).value;
  });
  figure("subgroup_fpr", nullptr,
         [](const Tables& t) { return subgroup_fairness(*find_rate("fpr"), t).value; });
  figure("generalized_entropy", nullptr,
         [](const Tables& t) { return generalized_entropy(benefits(together(t))); });
  figure("between_group_entropy", nullptr, between);
  figure("theil_index", nullptr,
         [](const Tables& t) { return theil_index(benefits(together(t))); });
  add_accuracies(tallies, groups, reason("accuracy"), options, add, report);
}

}  // namespace fmd::internal
