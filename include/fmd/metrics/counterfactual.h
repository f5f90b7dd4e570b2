#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// Scores of both sides of pairs (Eq. 3-4). Pair i belongs to source row unit[i]. Pairs of a
// unit are adjacent.
struct PairScores {
  Matrix p, pbar;               // pairs x classes
  std::vector<std::int32_t> y;  // class whose probability counts; -1 or empty = unknown
  std::vector<std::int32_t> decision, decision_bar;
  std::vector<Index> unit;
  std::vector<float> weight;  // > 0; sums to 1 per unit; empty = equal within a unit
  std::vector<std::int32_t> from, to;  // attribute values; empty for given pairs
};

struct FlipOptions {
  double confidence = 0.95;
  Index replicates = 1000;
  Index min_rows = 100;  // values with fewer rows stay out of co_large and worst
  Bootstrap intervals = Bootstrap::percentile;
};

// One ordered pair of values.
struct FlipCell {
  std::int32_t from = 0, to = 0;
  Index rows = 0;  // = pairs of this cell
  Interval co;     // mean gap of these pairs; rows with the value `from` are resampled
  // Mean p_k(to) - p_k(from); k = class 1 of two, the label's class of more.
  double signed_change = 0;
  double flip_rate = 0;
  bool masked = false;  // not shown, see masked() in report/mask.h
};

// A figure beside the flip gap: see PairGaps.
struct FlipFigure {
  std::string name;
  Index label = -1;   // of the rows with this label; -1 = all rows
  Index rows = 0;     // units that have it
  std::string about;  // name of the label
  Interval value;
  std::string reason;  // why it is undefined
};

struct FlipReport {
  Index units = 0, pairs = 0;
  Interval co;  // flip gap: mean |p_y(c) - p_y(cbar)|; undefined without labels for C > 2
  Interval co_tv;      // mean 1/2 sum_k |p_k(c) - p_k(cbar)|: needs no label
  Interval flip_rate;  // share of pairs whose decision differs
  Interval co_large;   // co over pairs between values with >= min_rows rows
  // The largest co of any pair of values with >= min_rows rows. Its interval holds for the
  // largest one: that of every pair, adjusted for their number.
  Interval co_worst;
  Index large_values = 0;
  double share_still = 0;           // share of pairs whose co_tv is below 1e-6
  std::vector<FlipCell> cells;      // every ordered pair of values; empty for given pairs
  int worst = -1;                   // cell with the largest co: that of co_worst
  std::vector<FlipFigure> figures;  // empty when they were not asked for
};

// Every figure is a mean over units of the weighted mean over a unit's pairs. The bootstrap
// resamples units. With more than two classes, pairs without a label are left out of co,
// co_large and the cells' co. With two classes co = co_tv, with or without labels. values:
// number of the attribute's values. Cost: twice replicates x units draws (see
// bootstrap_sums). Throws Error (bad_shape, bad_option).
[[nodiscard]] FlipReport flip_report(const PairScores& scores, Index values,
                                     const FlipOptions& options, const Exec& exec);

// Mean gap per unit, in order of units. Bootstrap and paired comparisons resample these.
// measure: "co" | "co_tv" | "flip_rate". NaN for a unit whose co is unknown (no label).
// Throws Error (bad_shape, bad_option).
[[nodiscard]] Vector unit_gaps(const PairScores& scores, const std::string& measure);

}  // namespace fmd
