#pragma once

#include <string>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exact_sum.h"
#include "fmd/metrics/counterfactual.h"

namespace fmd {

// Mean and spread of figures of up to 2^20. The order of adding changes no bit.
class ExactMoments {
 public:
  void add(double x);
  void merge(const ExactMoments& other);
  void save(ByteWriter& out) const;
  void load(ByteReader& in);
  [[nodiscard]] Index count() const { return count_; }
  // mean +- z sd / sqrt(count); ends are undefined for fewer than two.
  [[nodiscard]] Interval mean(double confidence) const;

 private:
  Index count_ = 0;
  ExactSum rises_, falls_, squares_;
};

// Figures of pairs beside the flip gap, as sums that blocks are added to. A unit (the pairs
// of one row) counts once, by the weighted mean of its pairs. Quantiles and the largest gap
// are over pairs. p is the probability of class 1 of two classes, or of the label's class
// of more:
//
//   signed_change     mean p(cbar) - p(c): the direction of flips
//   log_odds_gap      mean |logit p(cbar) - logit p(c)|, p within [2^-52, 1 - 2^-52]
//                     (counterfactual token fairness of text models)
//   co_label          co of the rows of one label (of the favourable one: counterfactual
//                     equality of opportunity)
//   loss_ratio        mean L(cbar) / L(c), ratios over 2^20 count as 2^20 (inFairness)
//   gap_q50 ... q99   quantiles of |p(cbar) - p(c)|, to 1/64 of their size; their intervals
//                     are those of order statistics with units as the number of rows
//   largest_gap       has no interval: in other rows another gap would be the largest
class PairGaps {
 public:
  explicit PairGaps(Index classes = 2);

  // Pairs that flip_report() would accept. The pairs of a unit have one label.
  void add(const PairScores& block);
  void merge(const PairGaps& other);
  void save(ByteWriter& out) const;
  void load(ByteReader& in);  // throws Error(bad_model)

  [[nodiscard]] std::vector<FlipFigure> figures(double confidence) const;
  [[nodiscard]] static const std::vector<std::string>& names();

 private:
  [[nodiscard]] double quantile(double share) const;

  ExactMoments change_, log_odds_, loss_ratio_;
  std::vector<ExactMoments> by_label_;
  std::vector<Index> sizes_;  // pairs by the size of the gap
  Index pairs_ = 0;           // with a known gap
  double largest_ = kUndefined;
};

}  // namespace fmd
