#pragma once

#include <cstdint>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exact_sum.h"
#include "fmd/core/exec.h"
#include "fmd/metrics/counterfactual.h"
#include "fmd/metrics/gap_bins.h"
#include "fmd/metrics/pair_gaps.h"

namespace fmd {

// What a tally of pairs counts. Plans that differ in what is kept alone can be merged.
struct FlipPlan {
  Index classes = 2;
  Index values = 0;      // of the attribute
  bool by_value = true;  // false: given pairs, without from and to
  bool figures = true;   // also those of PairGaps; they take a few logarithms a pair
  // Up to this many units and pairs, the pairs are kept for an exact bootstrap.
  Index keep_units = 20'000, keep_pairs = 400'000;

  bool operator==(const FlipPlan&) const = default;
};

// Everything that an audit says about pairs, as sums that blocks are added to. All sums are
// exact: merging in any order gives the same figures, bit for bit. See Tally.
class FlipTally {
 public:
  explicit FlipTally(FlipPlan plan = {});

  // All pairs of a unit are in one block. Throws Error (bad_shape, bad_option, bad_value).
  void add(const PairScores& block);
  void merge(const FlipTally& other);  // throws Error(bad_shape) when the plans differ
  void save(ByteWriter& out) const;
  [[nodiscard]] static FlipTally load(ByteReader& in);  // throws Error(bad_model)

  [[nodiscard]] const FlipPlan& plan() const { return plan_; }
  [[nodiscard]] Index units() const { return units_; }
  [[nodiscard]] Index pairs() const { return pairs_; }

 private:
  friend FlipReport flip_report(const FlipTally& tally, const FlipOptions& options,
                                const Exec& exec);

  // What pairs contribute. The gap is the size of change. change is NaN where the label is
  // needed and is not known.
  struct Kept {
    std::vector<Index> unit_pairs;  // number of pairs of each unit
    std::vector<double> change, tv;
    std::vector<float> weight;
    std::vector<std::int32_t> from, to;  // empty for given pairs
    std::vector<std::uint8_t> flipped;
  };
  // One ordered pair of values.
  struct Cell {
    GapBins gap;
    ExactSum rises, falls;  // of p(to) - p(from)
    Index pairs = 0, flipped = 0;
  };

  void add_unit(const Kept& block, std::size_t first, std::size_t last);
  void add_cells(const Kept& block);
  [[nodiscard]] FlipReport report_kept(const FlipOptions& options, const Exec& exec) const;
  [[nodiscard]] FlipReport report_sums(const FlipOptions& options, const Exec& exec) const;
  [[nodiscard]] Interval large_gap(const std::vector<bool>& large, double confidence) const;
  void drop_or_keep(const Kept& block);

  FlipPlan plan_;
  Index units_ = 0, pairs_ = 0, still_ = 0;
  bool keeping_ = true;
  Kept kept_;
  GapBins co_, tv_, flip_;  // means over each unit's pairs
  PairGaps gaps_;
  std::vector<Index> rows_;  // units by own value
  std::vector<Cell> cells_;  // values x values
};

// See flip_report in counterfactual.h. Up to keep_units units and keep_pairs pairs, figures
// and bootstrap are those of the pairs themselves. Above that, intervals come from GapBins.
// That of co_large is then on the safe side: it assumes that the gaps of a row towards
// different values rise and fall together, and that its pairs have equal weights.
[[nodiscard]] FlipReport flip_report(const FlipTally& tally, const FlipOptions& options,
                                     const Exec& exec);

}  // namespace fmd
