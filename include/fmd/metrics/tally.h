#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exact_sum.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"
#include "fmd/metrics/score_curve.h"
#include "fmd/metrics/scored.h"

namespace fmd {

// Number of score bins, all of equal width. A multiple of 10: a bin of a calibration error
// is then a whole number of these bins.
inline constexpr Index kScoreBins = 1000;

// Views of rows with scores: a block of rows, or all.
struct ScoredBlock {
  Index rows = 0;
  Index classes = 2;
  const double* p = nullptr;                        // rows x classes
  std::span<const std::int32_t> y;                  // empty: no labels; -1 unknown
  std::span<const std::int32_t> decision;           // class that was decided
  std::vector<std::span<const std::int32_t>> code;  // per attribute; -1 = none
  std::span<const float> weight;                    // empty = 1
};

// What a tally counts. Only tallies with equal plans can be merged.
struct TallyPlan {
  Index classes = 2;
  int favorable = -1;         // class that is good for the person; -1 = none named
  std::vector<Index> values;  // number of values of each attribute
  bool crossed = true;        // also every pair of attributes
  bool labelled = true;       // false: no block has labels
  bool weighted = false;      // true: every block has weights
  Index keep_rows = 200'000;  // up to here the scores of rows are kept: exact bootstrap

  bool operator==(const TallyPlan&) const = default;
};

// Rows of one group that have the same label. Weights are 1 unless the plan is weighted.
struct LabelTally {
  Index rows = 0;
  Index chosen = 0, right = 0;  // decided favourable; decided as the label says
  double weight = 0, weight_chosen = 0, weight_right = 0;
  // sum w^2: (sum w)^2 / sum w^2 is the effective number of rows.
  double weight_squares = 0, weight_squares_chosen = 0;
  double score = 0, score_squares = 0;  // sums of w p and w p^2, p of the favourable class
  double loss = 0, brier = 0;  // sums of -w log p_y and of w (p - [y favourable])^2

  void add(const LabelTally& other);
};

// One group: unknown labels, then one entry for each class.
struct GroupTally {
  LabelTally unknown;
  std::vector<LabelTally> label;

  [[nodiscard]] LabelTally all() const;    // every row
  [[nodiscard]] LabelTally known() const;  // rows with a label
};

// The score of the favourable class of every kept row, with its label and its groups.
struct KeptRows {
  std::vector<double> score;
  std::vector<std::int32_t> y;                  // empty: no labels
  std::vector<std::vector<std::int32_t>> code;  // per attribute
};

// Everything that an audit says about rows, as sums that blocks are added to. The sums are
// of whole numbers: counts, and scores and losses rounded to 2^-50 and 2^-45, which is
// finer than the rounding of a plain sum. So merging in any order and any grouping gives
// the same bits, and no tree (core/accumulator.h) is needed: make one tally per thread, per
// file or per machine, or one for all. A tally takes up to some megabytes with its score
// histograms: do not make one per block. Make one per thread, or one per about 100,000
// rows, and add blocks to it.
//
// It holds a table group x label x outcome for all attributes at once where that has few
// cells, otherwise one for every pair of attributes. Smaller tables are its margins. Memory
// depends only on the plan, and on the rows that are kept.
class Tally {
 public:
  explicit Tally(TallyPlan plan = {});  // throws Error(bad_option)

  // Throws Error (bad_shape: sizes or codes that do not fit the plan; bad_option: labels
  // that are not classes; bad_value: scores that are not probabilities, weights outside
  // 2^-20 .. 2^20 that are not 0). After an error the tally must not be used any more.
  void add(const ScoredBlock& block);
  void merge(const Tally& other);  // throws Error(bad_shape) when the plans differ
  void save(ByteWriter& out) const;
  [[nodiscard]] static Tally load(ByteReader& in);  // throws Error(bad_model)

  [[nodiscard]] const TallyPlan& plan() const { return plan_; }
  [[nodiscard]] Index rows() const { return rows_; }

  // The groups of one attribute, or of two (the second one runs faster), in order of
  // values. `without`, when not null, gets the number of rows that have no group.
  [[nodiscard]] std::vector<GroupTally> groups(std::span<const Index> attributes,
                                               Index* without = nullptr) const;
  [[nodiscard]] GroupTally total() const;
  // Score histogram of each group. Empty when there is no favourable class, and for two
  // attributes with too many values (more than 640 cells, missing values among them).
  [[nodiscard]] std::vector<ScoreHistogram> histograms(
      std::span<const Index> attributes) const;
  [[nodiscard]] ScoreHistogram total_histogram() const;
  // Null when there are more rows than keep_rows, or no favourable class.
  [[nodiscard]] const KeptRows* kept() const { return keeping_ ? &kept_ : nullptr; }
  // Confidence (two classes: score of class 1; more: the largest score) and hits of
  // labelled rows, as sums in 10 bins of equal width.
  struct Bin {
    double score = 0, hits = 0;
  };
  [[nodiscard]] std::vector<Bin> calibration() const;

 private:
  struct Table {
    std::vector<Index> attributes, stride;
    Index groups = 1;                   // cells, missing values among them
    std::vector<std::uint64_t> recent;  // group x label x {p, p^2, loss, outcomes}
    std::vector<ExactSum> sum;          // group x label x {p, p^2, loss}
    std::vector<Index> count;           // group x label x outcome
    // group x label x {w and w^2 of 4 outcomes, wp, wp^2, w loss}
    std::vector<ExactSum> weight;
    std::vector<std::uint32_t> recent_bin;  // group x {unknown, negative, positive} x bin
    std::vector<Index> bin;                 // the same; empty before 2^31 rows
  };
  struct Scratch;

  // The attributes of each table, and how many group x label cells one has.
  [[nodiscard]] static std::vector<std::vector<Index>> tables_of(const TallyPlan& plan);
  [[nodiscard]] static Index sums_of(const TallyPlan& plan,
                                     const std::vector<Index>& attributes);
  void add_table(std::vector<Index> attributes);
  void count_rows(const ScoredBlock& block, Index first, Index rows, Scratch& scratch);
  void add_weights(const ScoredBlock& block, Index first, Index rows, Scratch& scratch);
  void keep(const ScoredBlock& block);
  void settle();  // adds the recent sums to the exact ones
  void settle_bins();
  [[nodiscard]] const Table* table_of(std::span<const Index> attributes, bool bins) const;
  [[nodiscard]] LabelTally label_tally(const Table& table, Index cell) const;

  TallyPlan plan_;
  std::vector<Table> tables_;
  std::vector<std::uint64_t> recent_calibration_;  // copies x bin x {score, hits}
  std::vector<ExactSum> calibration_;              // bin x {score, hits}
  Index rows_ = 0, unsettled_ = 0, unsettled_bins_ = 0;
  bool keeping_ = true;
  KeptRows kept_;
};

// Whole arrays, on the pool.
[[nodiscard]] Tally tally(const TallyPlan& plan, const ScoredBlock& all, const Exec& exec);
[[nodiscard]] ScoredBlock block_of(const Scored& scored);  // a view, without codes

// The functions of scored.h, from a tally. Weighted plans: shares of weights, and intervals
// for the effective number of rows.
[[nodiscard]] Interval accuracy(const Tally& tally, double confidence);
[[nodiscard]] double log_loss(const Tally& tally);
[[nodiscard]] double calibration_error(const Tally& tally);

}  // namespace fmd
