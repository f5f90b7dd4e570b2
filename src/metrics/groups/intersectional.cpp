#include "fmd/metrics/intersectional.h"

#include <cmath>

#include "core/check.h"

namespace fmd {
namespace {

void validate(const std::vector<std::vector<double>>& counts, double alpha) {
  require_option(alpha >= 0, "differential_fairness", "alpha", alpha, ">= 0");
  for (const std::vector<double>& group : counts) {
    require_size("differential_fairness", "a group's counts",
                 static_cast<Index>(group.size()),
                 static_cast<Index>(counts.front().size()));
    for (const double count : group)
      require_option(count >= 0, "differential_fairness", "counts", count, ">= 0");
  }
}

double sum(const std::vector<double>& counts) {
  double total = 0;
  for (const double count : counts) total += count;
  return total;
}

}  // namespace

DifferentialFairness differential_fairness(const std::vector<std::vector<double>>& counts,
                                           double alpha) {
  validate(counts, alpha);
  DifferentialFairness found;
  const std::size_t outcomes = counts.empty() ? 0 : counts.front().size();
  for (std::size_t y = 0; y < outcomes; ++y) {
    // The widest pair of an outcome: the groups with the largest and the smallest share of
    // it.
    int high = -1, low = -1, groups = 0;
    double most = 0, least = 0;
    for (std::size_t g = 0; g < counts.size(); ++g) {
      const double rows = sum(counts[g]);
      if (rows == 0) continue;
      const double p =
          (counts[g][y] + alpha) / (rows + alpha * static_cast<double>(outcomes));
      if (groups == 0 || p > most) most = p, high = static_cast<int>(g);
      if (groups == 0 || p < least) least = p, low = static_cast<int>(g);
      ++groups;
    }
    if (groups < 2) return found;
    const double epsilon = most == 0 ? 0 : std::log(most) - std::log(least);
    if (std::isnan(found.epsilon) || epsilon > found.epsilon)
      found = {epsilon, high, low, static_cast<int>(y)};
  }
  return found;
}

BiasAmplification bias_amplification(const std::vector<Confusion>& groups, double alpha) {
  std::vector<std::vector<double>> decisions, labels;
  for (const Confusion& c : groups) {
    decisions.push_back({c.tn + c.fn, c.tp + c.fp});
    labels.push_back({c.negatives(), c.positives()});
  }
  BiasAmplification found{.decisions = differential_fairness(decisions, alpha),
                          .labels = differential_fairness(labels, alpha)};
  found.amplification = found.decisions.epsilon - found.labels.epsilon;
  return found;
}

SubgroupFairness subgroup_fairness(const RateInfo& rate,
                                   const std::vector<Confusion>& groups,
                                   SubgroupWeight weight) {
  require_option(rate.share != nullptr, "subgroup_fairness", "rate", rate.name,
                 "a share of rows");
  Confusion all;
  for (const Confusion& group : groups) all.add(group);
  const double overall = rate.value(all);
  SubgroupFairness found;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Share share = rate.share(groups[g]);
    const double difference = share.value() - overall;
    if (std::isnan(difference)) continue;
    const bool concerned = weight == SubgroupWeight::concerned;
    const double part = (concerned ? share.of : groups[g].rows()) / all.rows();
    const double value = part * std::abs(difference);
    if (std::isnan(found.value) || value > found.value)
      found = {value, static_cast<int>(g), part, difference};
  }
  return found;
}

}  // namespace fmd
