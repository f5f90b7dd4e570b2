#include "fmd/metrics/pair_gaps.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace fmd {
namespace {

constexpr double kLeast = 0x1p-52;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double log_odds(double p) {
  const double kept = std::clamp(p, kLeast, 1 - kLeast);
  return std::log(kept) - std::log1p(-kept);
}

void validate(const PairScores& s) {
  const Index pairs = s.p.rows();
  const auto size = [&](const char* name, std::size_t has) {
    require_size("pair_gaps", name, static_cast<Index>(has), pairs);
  };
  size("pbar", at(s.pbar.rows()));
  require_size("pair_gaps", "a row of pbar", s.pbar.cols(), s.p.cols());
  require_option(pairs == 0 || s.p.cols() >= 2, "pair_gaps", "classes", s.p.cols(), ">= 2");
  size("unit", s.unit.size());
  if (!s.y.empty()) size("y", s.y.size());
  if (!s.weight.empty()) size("weight", s.weight.size());
  for (const std::int32_t y : s.y)
    require_option(y >= -1 && y < s.p.cols(), "pair_gaps", "y", y, "a class, or -1");
}

struct Weighted {
  double size = 0, weight = 0;
};

// Pairs that count, with weights that sum to 1 in each unit.
struct Kept {
  Index units = 0;
  std::vector<Index> pair;
  std::vector<double> weight;
};

template <typename Keep>
Kept keep_pairs(const PairScores& s, const Keep& keep) {
  Kept kept;
  const auto pairs = static_cast<Index>(s.unit.size());
  for (Index first = 0; first < pairs;) {
    const std::size_t start = kept.pair.size();
    double sum = 0;
    Index i = first;
    for (; i < pairs && s.unit[at(i)] == s.unit[at(first)]; ++i) {
      if (!keep(i)) continue;
      const double w = s.weight.empty() ? 1.0 : static_cast<double>(s.weight[at(i)]);
      kept.pair.push_back(i);
      kept.weight.push_back(w);
      sum += w;
    }
    for (std::size_t k = start; k < kept.weight.size(); ++k) kept.weight[k] /= sum;
    kept.units += kept.pair.size() > start;
    first = i;
  }
  return kept;
}

std::vector<double> quantiles(std::vector<Weighted> sizes,
                              const std::vector<double>& shares) {
  std::sort(sizes.begin(), sizes.end(),
            [](const Weighted& a, const Weighted& b) { return a.size < b.size; });
  double all = 0;
  for (Weighted& size : sizes) all = size.weight += all;
  std::vector<double> found;
  for (const double share : shares) {
    // A share that is reached but for rounding is reached.
    const auto first = std::find_if(sizes.begin(), sizes.end(), [&](const Weighted& size) {
      return size.weight >= share * all * (1 - 1e-12);
    });
    found.push_back(sizes.empty()          ? kUndefined
                    : first == sizes.end() ? sizes.back().size
                                           : first->size);
  }
  return found;
}

GapSummary summarize(const Kept& kept, const Vector& change, const GapOptions& options) {
  GapSummary summary;
  summary.units = kept.units;
  summary.pairs = static_cast<Index>(kept.pair.size());
  std::vector<Weighted> sizes;
  double sum = 0, sum_sizes = 0;
  for (std::size_t k = 0; k < kept.pair.size(); ++k) {
    const double value = change(kept.pair[k]), size = std::abs(value);
    sum += kept.weight[k] * value;
    sum_sizes += kept.weight[k] * size;
    sizes.push_back({size, kept.weight[k]});
    if (summary.largest_pair < 0 || size > summary.largest) {
      summary.largest = size;
      summary.largest_pair = kept.pair[k];
    }
  }
  if (summary.units > 0) {
    summary.signed_mean = sum / static_cast<double>(summary.units);
    summary.mean = sum_sizes / static_cast<double>(summary.units);
  }
  summary.quantiles = quantiles(std::move(sizes), options.quantiles);
  return summary;
}

void validate(const PairScores& scores, const Vector& change, const GapOptions& options) {
  validate(scores);
  require_size("pair_gaps", "change", change.size(), scores.p.rows());
  for (const double share : options.quantiles)
    require_option(share >= 0 && share <= 1, "pair_gaps", "quantiles", share,
                   "between 0 and 1");
}

}  // namespace

Vector pair_changes(const PairScores& scores, GapScale scale) {
  validate(scores);
  const auto scaled = [&](double p) {
    return scale == GapScale::log_odds ? log_odds(p) : p;
  };
  Vector change(scores.p.rows());
  for (Index i = 0; i < change.size(); ++i) {
    const std::int32_t label = scores.y.empty() ? -1 : scores.y[at(i)];
    const Index k = scores.p.cols() == 2 ? 1 : label;
    change(i) = k < 0 ? kUndefined : scaled(scores.pbar(i, k)) - scaled(scores.p(i, k));
  }
  return change;
}

GapSummary gap_summary(const PairScores& scores, const Vector& change,
                       const GapOptions& options) {
  validate(scores, change, options);
  const auto known = [&](Index i) { return !std::isnan(change(i)); };
  return summarize(keep_pairs(scores, known), change, options);
}

std::vector<GapSummary> gap_summary_by_label(const PairScores& scores, const Vector& change,
                                             const GapOptions& options) {
  validate(scores, change, options);
  std::vector<GapSummary> all;
  for (Index label = 0; label < scores.p.cols(); ++label) {
    const auto keep = [&](Index i) {
      return !scores.y.empty() && scores.y[at(i)] == label && !std::isnan(change(i));
    };
    all.push_back(summarize(keep_pairs(scores, keep), change, options));
  }
  return all;
}

}  // namespace fmd
