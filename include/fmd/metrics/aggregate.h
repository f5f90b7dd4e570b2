#pragma once

#include <functional>
#include <vector>

#include "fmd/metrics/confusion.h"

namespace fmd {

// One figure from the values of several groups, and the groups that decide it. Groups whose
// value is undefined are left out. Where nothing is left to compare (fewer than two groups;
// for group_min and group_max none) the figure is undefined and the groups are -1.
struct Aggregate {
  double value = kUndefined;
  int first = -1, second = -1;  // second: -1 where one group decides, or the overall value
};

[[nodiscard]] Aggregate group_min(const std::vector<double>& values);
[[nodiscard]] Aggregate group_max(const std::vector<double>& values);
// Largest - smallest; first has the largest value.
[[nodiscard]] Aggregate group_difference(const std::vector<double>& values);
// Smallest / largest; first has the smallest value. Undefined where it divides by 0.
[[nodiscard]] Aggregate group_ratio(const std::vector<double>& values);
// max |value - overall|. Also defined for one group.
[[nodiscard]] Aggregate difference_to_overall(const std::vector<double>& values,
                                              double overall);
// The smallest of value / overall or its inverse, whichever is below 1.
[[nodiscard]] Aggregate ratio_to_overall(const std::vector<double>& values, double overall);

// The rate of every group, in their order, and of all rows together.
[[nodiscard]] std::vector<double> values_of(const RateInfo& rate,
                                            const std::vector<Confusion>& groups);
[[nodiscard]] double overall_of(const RateInfo& rate, const std::vector<Confusion>& groups);

// The group that others are compared against: the one with most rows, or the one with the
// smallest value of a rate. The first of equals; -1 when no group has a value.
[[nodiscard]] int majority_group(const std::vector<Confusion>& groups);
[[nodiscard]] int smallest_group(const RateInfo& rate,
                                 const std::vector<Confusion>& groups);

// The criterion of every group (as u) against the reference (as p). Throws
// Error(bad_option) for a reference that is not a group.
[[nodiscard]] std::vector<double> versus_reference(const CriterionInfo& criterion,
                                                   const std::vector<Confusion>& groups,
                                                   int reference);
// The criterion of every group against all other rows together.
[[nodiscard]] std::vector<double> one_versus_rest(const CriterionInfo& criterion,
                                                  const std::vector<Confusion>& groups);

// Equalized odds over many groups: the larger one (worst_case) or the mean of the
// differences of tpr and of fpr. For ratios: the smaller one or the mean.
enum class OddsOf { worst_case, mean };
enum class Against { each_other, overall };
[[nodiscard]] double odds_difference(const std::vector<Confusion>& groups,
                                     OddsOf odds = OddsOf::worst_case,
                                     Against against = Against::each_other);
[[nodiscard]] double odds_ratio(const std::vector<Confusion>& groups,
                                OddsOf odds = OddsOf::worst_case,
                                Against against = Against::each_other);

// A figure within each level of control features. Example: people of one department are
// compared with people of that department only.
struct Stratified {
  std::vector<double> by_stratum;
  double mean = kUndefined;   // weighted by rows, over the strata where it is defined
  double worst = kUndefined;  // the value farthest from 0 (ratios: from 1, by its log)
  int worst_stratum = -1;
};
// strata[s]: the groups of level s. figure: takes the groups of one level.
[[nodiscard]] Stratified within_strata(
    const std::vector<std::vector<Confusion>>& strata,
    const std::function<double(const std::vector<Confusion>&)>& figure, bool ratio = false);

}  // namespace fmd
