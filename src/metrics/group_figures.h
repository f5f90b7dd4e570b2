#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fmd/metrics/confusion.h"
#include "fmd/metrics/group.h"

namespace fmd {

// A group as its rates and criteria see it.
struct CountedGroup {
  Confusion sums, squares;  // of weights and of their squares: the counts without weights
  // Rightly and wrongly decided rows in the places of TP and FP, for accuracies of many
  // classes, which a table of "favourable or not" does not have.
  Confusion right, right_squares;
  std::vector<Confusion> replicates, right_replicates;  // empty: see add_figures
  // The tables that are resampled: whole numbers, with weights as many as are effective.
  Confusion whole, right_whole;
};

// Acceleration of a figure of several groups, by the jackknife of their tables.
[[nodiscard]] double table_acceleration(
    const std::vector<const Confusion*>& tables,
    const std::function<double(const std::vector<Confusion>&)>& figure);

// What rates and criteria of this plan can be told at all; else why not.
struct FigureRules {
  bool labelled = true, named = true, two_classes = true;
  // rate: the one that a figure is made of; null = several.
  [[nodiscard]] std::string reason(const char* rate) const;
  [[nodiscard]] bool of_right(const char* rate) const;  // by CountedGroup::right
};

// Fills rates of groups and adds measures to a report that has its groups and reference.
void add_figures(const Tally& tally, std::span<const Index> attributes,
                 const std::vector<GroupTally>& tallies, const GroupOptions& options,
                 const Exec& exec, GroupReport& report);

// Its parts. groups: the compared ones, by their number in the report.
void add_criteria(const std::vector<CountedGroup>& counts, const std::vector<int>& groups,
                  const FigureRules& rules, const GroupOptions& options,
                  GroupReport& report);
void add_common_figures(const std::vector<GroupTally>& tallies,
                        const std::vector<CountedGroup>& counts,
                        const std::vector<int>& groups, const FigureRules& rules,
                        const GroupOptions& options, GroupReport& report);
void add_score_figures(const Tally& tally, std::span<const Index> attributes,
                       const std::vector<GroupTally>& tallies,
                       const std::vector<int>& groups, const FigureRules& rules,
                       const GroupOptions& options, const Exec& exec, GroupReport& report);

// p-values of the comparisons that are made of counts. Not for sums of weights, which are
// no rows that could change places.
void add_permutations(const std::vector<CountedGroup>& counts, const FigureRules& rules,
                      Index permutations, const Exec& exec, GroupReport& report);

inline constexpr const char* kCommonFigures[] = {
    "differential_fairness", "bias_amplification",   "subgroup_selection",
    "subgroup_fpr",          "generalized_entropy",  "between_group_entropy",
    "theil_index",           "worst_cell_accuracy",  "unbiased_accuracy",
    "aligned_accuracy",      "conflicting_accuracy", "aligned_gap"};
inline constexpr const char* kScoreFigures[] = {"auc_difference", "abroca", "ks_distance"};

}  // namespace fmd
