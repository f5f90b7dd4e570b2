#pragma once

#include <vector>

#include "fmd/metrics/counterfactual.h"

namespace fmd {

// Changes of single pairs, beside the means that flip_report gives.
//
// probability: p(cbar) - p(c); log_odds: ln(p / (1 - p)) of both, with p kept within
// [2^-52, 1 - 2^-52] (the counterfactual token fairness gap of text models is its mean
// size). Of class 1 of two, of the label's class of more; NaN where that is not known.
enum class GapScale { probability, log_odds };
[[nodiscard]] Vector pair_changes(const PairScores& scores,
                                  GapScale scale = GapScale::probability);

struct GapOptions {
  std::vector<double> quantiles{0.5, 0.9, 0.95, 0.99};  // each within [0, 1]
};

// Figures of the pairs whose change is known. A pair has its share of its unit, so units
// count alike.
struct GapSummary {
  Index units = 0, pairs = 0;
  double signed_mean = kUndefined;  // mean change: which way the flips go
  double mean = kUndefined;         // mean size (on probabilities: co)
  double largest = kUndefined;      // largest size
  Index largest_pair = -1;
  // Of the sizes: the least one that at least this share of the pairs does not exceed.
  std::vector<double> quantiles;
};
// change: as pair_changes gives it. Throws Error (bad_shape, bad_option).
[[nodiscard]] GapSummary gap_summary(const PairScores& scores, const Vector& change,
                                     const GapOptions& options = {});
// The same for the pairs of each label, 0 .. classes-1 (counterfactual equality of
// opportunity: the entry of the favourable class); pairs without a label are in none.
[[nodiscard]] std::vector<GapSummary> gap_summary_by_label(const PairScores& scores,
                                                           const Vector& change,
                                                           const GapOptions& options = {});

}  // namespace fmd
