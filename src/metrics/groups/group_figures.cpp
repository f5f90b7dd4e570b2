#include "metrics/groups/group_figures.h"

#include <algorithm>

#include "core/index.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/bca.h"
#include "metrics/groups/common_figures.h"
#include "metrics/groups/counted_group.h"
#include "metrics/groups/group_criteria.h"
#include "metrics/groups/group_permutations.h"
#include "metrics/groups/score_figures.h"
#include "metrics/statistics/rate_count.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kMostGroups = 300;  // with bootstrapped figures

Interval rate_interval(const RateInfo& rate, const CountedGroup& c, bool right,
                       double confidence, Bootstrap intervals) {
  const Confusion& sums = right ? c.right : c.sums;
  if (rate.share != nullptr) {
    const Share share = rate.share(sums);
    const double squares = rate.share(right ? c.right_squares : c.squares).of;
    const RateCount count = effective(share.hits, share.of, squares);
    return effective_wilson(count.hits, count.of, confidence);
  }
  const std::vector<Confusion>& drawn = right ? c.right_replicates : c.replicates;
  const double value = rate.value(sums);
  if (drawn.empty()) return {value, kUndefined, kUndefined};
  std::vector<double> values(drawn.size());
  std::transform(drawn.begin(), drawn.end(), values.begin(), rate.value);
  const double acceleration =
      intervals == Bootstrap::percentile
          ? 0
          : table_acceleration({right ? &c.right_whole : &c.whole},
                               [&](const auto& tables) { return rate.value(tables[0]); });
  return bootstrap_interval(value, std::move(values), acceleration, confidence, intervals);
}

std::vector<Figure> rates_of(const CountedGroup& counts, const FigureRules& rules,
                             const GroupOptions& options) {
  std::vector<Figure> rates;
  for (const RateInfo& rate : group_rates()) {
    Figure figure{rate.name, {}, rules.reason(rate.name)};
    if (figure.reason.empty()) {
      figure.value = rate_interval(rate, counts, rules.of_right(rate.name),
                                   options.confidence, options.intervals);
      if (!figure.value.defined()) figure.reason = "no rows of the kind that it needs";
    }
    rates.push_back(std::move(figure));
  }
  return rates;
}

}  // namespace

void add_figures(const Tally& tally, std::span<const Index> attributes,
                 const std::vector<GroupTally>& tallies, const GroupOptions& options,
                 const Exec& exec, GroupReport& report) {
  const TallyPlan& plan = tally.plan();
  const FigureRules rules{.labelled = plan.labelled,
                          .named = plan.favorable >= 0,
                          .two_classes = plan.classes == 2};
  std::vector<CountedGroup> counts;
  std::vector<int> compared;
  for (std::size_t g = 0; g < tallies.size(); ++g) {
    counts.emplace_back(tallies[g], plan.favorable);
    if (report.groups[g].compared) compared.push_back(static_cast<int>(g));
  }
  if (compared.size() <= kMostGroups) {
    for (const int g : compared) {
      // The seed depends on the name, as for mean scores: renumbering groups changes
      // nothing.
      Exec own = exec;
      own.seed = Rng(exec.seed, "table of " + report.groups[at(g)].value).next();
      counts[at(g)].resample(options.replicates, rules.of_right("accuracy"), own);
    }
  }
  for (std::size_t g = 0; g < tallies.size(); ++g)
    if (report.groups[g].compared || attributes.size() < 2)
      report.groups[g].rates = rates_of(counts[g], rules, options);
  add_criteria(counts, compared, rules, options, report);
  if (options.permutations > 0 && !plan.weighted)
    add_permutations(counts, rules, options.permutations, exec, report);
  add_common_figures(tallies, counts, compared, rules, options, report);
  if (attributes.size() < 2)
    add_score_figures(tally, attributes, tallies, compared, rules, options, exec, report);
}

}  // namespace fmd::internal
