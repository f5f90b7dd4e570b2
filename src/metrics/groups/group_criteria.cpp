#include "metrics/groups/group_criteria.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/metrics/bca.h"
#include "metrics/groups/widest_pair.h"
#include "metrics/statistics/rate_count.h"

namespace fmd::internal {
namespace {

// Enough rows of the kind that the criterion divides by.
bool enough(const CountedGroup& c, const RateInfo* rate, bool right, double least) {
  if (rate != nullptr && rate->share != nullptr) {
    const Share share = rate->share(right ? c.right : c.sums);
    const double squares = rate->share(right ? c.right_squares : c.squares).of;
    return share.of > 0 && effective(0, share.of, squares).of >= least;
  }
  const auto rows = [&](double of, double squares) { return effective(0, of, squares).of; };
  return rows(c.sums.positives(), c.squares.positives()) >= least &&
         rows(c.sums.negatives(), c.squares.negatives()) >= least;
}

RateCount count_of(const RateInfo& rate, const CountedGroup& c, bool right) {
  const Share share = rate.share(right ? c.right : c.sums);
  return effective(share.hits, share.of,
                   rate.share(right ? c.right_squares : c.squares).of);
}

// Criteria that put the sizes of two differences or ratios together. Resampling adds to
// sizes: its replicates of equal groups all lie above 0. The intervals of both parts, each
// at half the level, hold together.
struct TwoSizes {
  const char* criterion;
  const char* rates[2];
  bool mean;  // of the two sizes; otherwise the larger one, or the smaller ratio
};

constexpr TwoSizes kTwoSizes[] = {
    {"equalized_odds_difference", {"tpr", "fpr"}, false},
    {"equalized_odds_ratio", {"tpr", "fpr"}, false},
    {"conditional_use_accuracy_difference", {"ppv", "npv"}, false},
    {"average_abs_odds_difference", {"fpr", "tpr"}, true}};

const TwoSizes* find_two_sizes(const std::string& criterion) {
  for (const TwoSizes& two : kTwoSizes)
    if (criterion == two.criterion) return &two;
  return nullptr;
}

Interval part_of(const CriterionInfo& criterion, const RateInfo& rate,
                 const CountedGroup& u, const CountedGroup& p, double confidence) {
  RateCount first = count_of(rate, u, false), second = count_of(rate, p, false);
  if (!criterion.ratio)
    return effective_newcombe(first.hits, first.of, second.hits, second.of, confidence);
  if (first.hits * second.of > second.hits * first.of) std::swap(first, second);
  return effective_ratio(first.hits, first.of, second.hits, second.of, confidence);
}

Interval compare_sizes(const CriterionInfo& criterion, const TwoSizes& two,
                       const CountedGroup& u, const CountedGroup& p, double confidence) {
  const double value = criterion.value(u.sums, p.sums);
  const double half = adjusted_confidence(confidence, 2);
  WidestPair widest(criterion.ratio);
  double low = 0, high = 0;
  for (const char* name : two.rates) {
    const Interval part = part_of(criterion, *find_rate(name), u, p, half);
    widest.add({0, 1, name, part});
    low += std::max({0.0, part.low, -part.high}) / 2;
    high += std::max(part.high, -part.low) / 2;
  }
  const Interval ends = widest.widest().difference;
  if (std::isnan(value) || std::isnan(ends.low)) return {value, kUndefined, kUndefined};
  if (two.mean) return {value, low, high, IntervalKind::newcombe};
  return {value, criterion.ratio ? ends.low : std::max(0.0, ends.low), ends.high,
          criterion.ratio ? IntervalKind::rate_ratio : IntervalKind::newcombe};
}

Interval compare(const CriterionInfo& criterion, const RateInfo* rate, bool right,
                 const CountedGroup& u, const CountedGroup& p, double confidence,
                 Bootstrap intervals) {
  if (rate != nullptr && rate->share != nullptr) {
    const RateCount first = count_of(*rate, criterion.turned ? p : u, right);
    const RateCount second = count_of(*rate, criterion.turned ? u : p, right);
    return (criterion.ratio ? effective_ratio : effective_newcombe)(
        first.hits, first.of, second.hits, second.of, confidence);
  }
  if (const TwoSizes* two = find_two_sizes(criterion.name))
    return compare_sizes(criterion, *two, u, p, confidence);
  const double value = criterion.value(u.sums, p.sums);
  if (u.replicates.empty()) return {value, kUndefined, kUndefined};
  std::vector<double> values(u.replicates.size());
  std::transform(u.replicates.begin(), u.replicates.end(), p.replicates.begin(),
                 values.begin(), criterion.value);
  const double acceleration =
      intervals == Bootstrap::percentile
          ? 0
          : table_acceleration({&u.whole, &p.whole}, [&](const auto& tables) {
              return criterion.value(tables[0], tables[1]);
            });
  return bootstrap_interval(value, std::move(values), acceleration, confidence, intervals);
}

// How far a value is from equal groups.
double distance(const CriterionInfo& criterion, double value) {
  return criterion.ratio ? std::abs(std::log(value)) : std::abs(value);
}

Interval value_of(const Comparison* comparison) {
  return comparison == nullptr ? Interval{} : comparison->difference;
}

using OfPair = std::function<Comparison(int first, int second, double confidence)>;

void against_reference(const CriterionInfo& criterion, const std::vector<int>& groups,
                       const OfPair& of_pair, const GroupOptions& options,
                       const GroupReport& report, GroupMeasure& measure) {
  const double adjusted =
      adjusted_confidence(options.confidence, static_cast<Index>(groups.size()) - 1);
  // The farthest; among equally far ones the one with the narrower interval, so that the
  // numbering of groups decides nothing.
  const auto rank = [&](const Interval& i) {
    return std::tuple(distance(criterion, i.value), i.low - i.high, i.value);
  };
  for (const int other : groups) {
    if (other == report.reference) continue;
    measure.comparisons.push_back(of_pair(report.reference, other, adjusted));
    const Interval& found = measure.comparisons.back().difference;
    if (!found.defined()) continue;
    const Comparison* farthest = measure.behind_value();
    if (farthest == nullptr || rank(found) > rank(farthest->difference))
      measure.farthest = static_cast<int>(measure.comparisons.size()) - 1;
  }
}

void find_widest(const CriterionInfo& criterion, const std::vector<int>& groups,
                 const OfPair& of_pair, const GroupOptions& options,
                 GroupMeasure& measure) {
  const auto count = static_cast<Index>(groups.size());
  measure.pairs = count * (count - 1) / 2;
  const double adjusted = adjusted_confidence(options.confidence, measure.pairs);
  WidestPair widest(criterion.ratio);
  for (const int i : groups)
    for (const int j : groups) {
      if (j >= i) break;
      Comparison pair = of_pair(j, i, adjusted);
      // x / 0 is undefined, 0 / x is 0.
      if (criterion.ratio && !pair.difference.defined()) pair = of_pair(i, j, adjusted);
      widest.add(pair);
    }
  measure.widest = widest.widest();
}

void fill(const CriterionInfo& criterion, const std::vector<CountedGroup>& counts,
          const std::vector<int>& groups, const FigureRules& rules,
          const GroupOptions& options, const GroupReport& report, GroupMeasure& measure) {
  const RateInfo* rate = criterion.rate == nullptr ? nullptr : find_rate(criterion.rate);
  const bool right = rules.of_right(criterion.rate);
  const auto least = static_cast<double>(options.min_label);
  const auto large = [&](int g) { return enough(counts[at(g)], rate, right, least); };
  const auto needs = [&] {
    return fmt::format(">= {} rows and >= {} of the labels or decisions that it divides by",
                       options.min_rows, options.min_label);
  };
  std::vector<int> enough_rows;
  for (const int g : groups)
    if (large(g)) enough_rows.push_back(g);
  const bool reference = report.reference >= 0 &&
                         report.groups[at(report.reference)].compared &&
                         large(report.reference);
  if (enough_rows.size() < 2) {
    measure.reason = "fewer than two groups have " + needs();
  } else if (report.named && !reference) {
    measure.reason = fmt::format("the reference group {} does not have {}",
                                 report.groups[at(report.reference)].value, needs());
  }
  if (!measure.reason.empty()) return;
  const auto of_pair = [&](int first, int second, double confidence) {
    return Comparison{first, second, criterion.name,
                      compare(criterion, rate, right, counts[at(second)], counts[at(first)],
                              confidence, options.intervals)};
  };
  if (reference)
    against_reference(criterion, enough_rows, of_pair, options, report, measure);
  find_widest(criterion, enough_rows, of_pair, options, measure);
  measure.value = report.named || !measure.widest.difference.defined()
                      ? value_of(measure.behind_value())
                      : measure.widest.difference;
  if (!measure.value.defined()) measure.reason = "it divides by 0 in every group";
}

}  // namespace

void add_criteria(const std::vector<CountedGroup>& counts, const std::vector<int>& groups,
                  const FigureRules& rules, const GroupOptions& options,
                  GroupReport& report) {
  for (const CriterionInfo& criterion : group_criteria()) {
    GroupMeasure measure;
    measure.name = criterion.name;
    measure.by_name = true;
    measure.reason = rules.reason(criterion.rate);
    if (measure.reason.empty())
      fill(criterion, counts, groups, rules, options, report, measure);
    report.measures.push_back(std::move(measure));
  }
}

}  // namespace fmd::internal
