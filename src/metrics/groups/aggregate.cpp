#include "fmd/metrics/aggregate.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "metrics/groups/confusion_counts.h"
#include "metrics/statistics/divide.h"

namespace fmd {
namespace {

// The group with the best value by `better`, the first of equals; -1 when none is defined.
template <typename Better>
int best_group(const std::vector<double>& values, const Better& better) {
  int best = -1;
  for (std::size_t g = 0; g < values.size(); ++g) {
    if (std::isnan(values[g])) continue;
    if (best < 0 || better(values[g], values[static_cast<std::size_t>(best)]))
      best = static_cast<int>(g);
  }
  return best;
}

template <typename Better>
Aggregate best_of(const std::vector<double>& values, const Better& better) {
  const int best = best_group(values, better);
  if (best < 0) return {};
  return {values[static_cast<std::size_t>(best)], best, -1};
}

bool comparable(const std::vector<double>& values) {
  const auto defined = [](double v) { return !std::isnan(v); };
  return std::count_if(values.begin(), values.end(), defined) >= 2;
}

double combine(double tpr, double fpr, OddsOf odds, bool larger) {
  if (std::isnan(tpr) || std::isnan(fpr)) return kUndefined;
  if (odds == OddsOf::mean) return (tpr + fpr) / 2;
  return larger ? std::max(tpr, fpr) : std::min(tpr, fpr);
}

}  // namespace

Aggregate group_min(const std::vector<double>& values) {
  return best_of(values, std::less<>());
}

Aggregate group_max(const std::vector<double>& values) {
  return best_of(values, std::greater<>());
}

Aggregate group_difference(const std::vector<double>& values) {
  if (!comparable(values)) return {};
  const Aggregate high = group_max(values), low = group_min(values);
  return {high.value - low.value, high.first, low.first};
}

Aggregate group_ratio(const std::vector<double>& values) {
  if (!comparable(values)) return {};
  const Aggregate high = group_max(values), low = group_min(values);
  if (high.value == 0) return {};
  return {low.value / high.value, low.first, high.first};
}

Aggregate difference_to_overall(const std::vector<double>& values, double overall) {
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - overall));
  return group_max(distances);
}

Aggregate ratio_to_overall(const std::vector<double>& values, double overall) {
  std::vector<double> ratios;
  for (const double value : values)
    ratios.push_back(std::isnan(value) || std::isnan(overall)
                         ? kUndefined
                         : divide(std::min(value, overall), std::max(value, overall)));
  return group_min(ratios);
}

std::vector<double> values_of(const RateInfo& rate, const std::vector<Confusion>& groups) {
  std::vector<double> values;
  for (const Confusion& group : groups) values.push_back(rate.value(group));
  return values;
}

double overall_of(const RateInfo& rate, const std::vector<Confusion>& groups) {
  return rate.value(together(groups));
}

int majority_group(const std::vector<Confusion>& groups) {
  std::vector<double> rows;
  for (const Confusion& group : groups) rows.push_back(group.rows());
  return group_max(rows).first;
}

int smallest_group(const RateInfo& rate, const std::vector<Confusion>& groups) {
  return group_min(values_of(rate, groups)).first;
}

std::vector<double> versus_reference(const CriterionInfo& criterion,
                                     const std::vector<Confusion>& groups, int reference) {
  const auto count = static_cast<int>(groups.size());
  require_option(reference >= 0 && reference < count, "versus_reference", "reference",
                 reference, fmt::format("a group below {}", count));
  std::vector<double> values;
  for (const Confusion& group : groups)
    values.push_back(criterion.value(group, groups[static_cast<std::size_t>(reference)]));
  return values;
}

std::vector<double> one_versus_rest(const CriterionInfo& criterion,
                                    const std::vector<Confusion>& groups) {
  std::vector<double> values;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // All others are added up: subtracting one group from the total of weights would not be
    // exact.
    Confusion rest;
    for (std::size_t h = 0; h < groups.size(); ++h)
      if (h != g) rest.add(groups[h]);
    values.push_back(criterion.value(groups[g], rest));
  }
  return values;
}

double odds_difference(const std::vector<Confusion>& groups, OddsOf odds, Against against) {
  const auto spread = [&](const char* name) {
    const RateInfo& rate = *find_rate(name);
    const std::vector<double> values = values_of(rate, groups);
    if (against == Against::each_other) return group_difference(values).value;
    return difference_to_overall(values, overall_of(rate, groups)).value;
  };
  return combine(spread("tpr"), spread("fpr"), odds, true);
}

double odds_ratio(const std::vector<Confusion>& groups, OddsOf odds, Against against) {
  const auto spread = [&](const char* name) {
    const RateInfo& rate = *find_rate(name);
    const std::vector<double> values = values_of(rate, groups);
    if (against == Against::each_other) return group_ratio(values).value;
    return ratio_to_overall(values, overall_of(rate, groups)).value;
  };
  return combine(spread("tpr"), spread("fpr"), odds, false);
}

Stratified within_strata(const std::vector<std::vector<Confusion>>& strata,
                         const std::function<double(const std::vector<Confusion>&)>& figure,
                         bool ratio) {
  Stratified result;
  std::vector<double> distance;
  double sum = 0, rows = 0;
  for (const std::vector<Confusion>& groups : strata) {
    const double value = figure(groups);
    result.by_stratum.push_back(value);
    distance.push_back(std::abs(ratio ? std::log(value) : value));
    if (std::isnan(value)) continue;
    const double weight = together(groups).rows();
    sum += weight * value;
    rows += weight;
  }
  result.mean = divide(sum, rows);
  result.worst_stratum = group_max(distance).first;
  if (result.worst_stratum >= 0)
    result.worst = result.by_stratum[static_cast<std::size_t>(result.worst_stratum)];
  return result;
}

}  // namespace fmd
