#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "fmd/core/accumulator.h"
#include "fmd/core/bytes.h"
#include "fmd/curvature/hessian.h"
#include "fmd/data/csv.h"
#include "fmd/metrics/flip_tally.h"
#include "fmd/metrics/scored.h"
#include "fmd/metrics/tally.h"
#include "fmd/model/loss.h"
#include "fmd/pipeline/scan.h"

// The states in tests/compat: what they are made of, and what they say. write_states.cpp
// writes them with the library of a release; states_test.cpp reads them with the library of
// today. Both use this header, so a change of the public API is met here, while the files
// and the figures beside them stay as they are.
namespace fmd::test {

using Figures = std::map<std::string, double>;

// One row of rows.csv.gz is one scored row: p of two classes with the label y, q of three
// classes with the label z, groups a and b, a weight.
struct StateRows {
  Matrix p, q;
  std::vector<std::int32_t> y, z, a, b, decision_p, decision_q;
  std::vector<float> weight;

  [[nodiscard]] Index size() const { return p.rows(); }
};

inline std::vector<double> numbers_of(const Table& table, const std::string& name) {
  return table.column(name).numbers;
}

template <typename T>
std::vector<T> column_of(const Table& table, const std::string& name) {
  std::vector<T> values;
  for (const double value : numbers_of(table, name))
    values.push_back(static_cast<T>(value));
  return values;
}

// Columns name0, name1, ... side by side.
inline Matrix matrix_of(const Table& table, const std::string& name, Index classes) {
  Matrix values(table.rows(), classes);
  for (Index k = 0; k < classes; ++k) {
    const std::vector<double> column = numbers_of(table, fmt::format("{}{}", name, k));
    values.col(k) = Eigen::Map<const Vector>(column.data(), table.rows());
  }
  return values;
}

inline StateRows read_state_rows(const std::filesystem::path& path) {
  const Table table = read_csv(path);
  StateRows rows;
  rows.p = matrix_of(table, "p", 2);
  rows.q = matrix_of(table, "q", 3);
  rows.y = column_of<std::int32_t>(table, "y");
  rows.z = column_of<std::int32_t>(table, "z");
  rows.a = column_of<std::int32_t>(table, "a");
  rows.b = column_of<std::int32_t>(table, "b");
  rows.weight = column_of<float>(table, "weight");
  rows.decision_p = decide(rows.p, 0.5);
  rows.decision_q = decide(rows.q, 0.5);
  return rows;
}

// One row of pairs.csv.gz is one pair: p and pbar of two classes, q and qbar of three.
inline PairScores read_state_pairs(const std::filesystem::path& path, Index classes) {
  const Table table = read_csv(path);
  const std::string name = classes == 2 ? "p" : "q";
  PairScores pairs;
  pairs.p = matrix_of(table, name, classes);
  pairs.pbar = matrix_of(table, name + "bar", classes);
  pairs.y = column_of<std::int32_t>(table, classes == 2 ? "y" : "z");
  pairs.decision = decide(pairs.p, 0.5);
  pairs.decision_bar = decide(pairs.pbar, 0.5);
  pairs.unit = column_of<Index>(table, "unit");
  pairs.weight = column_of<float>(table, "weight");
  pairs.from = column_of<std::int32_t>(table, "from");
  pairs.to = column_of<std::int32_t>(table, "to");
  return pairs;
}

inline PairScores pairs_between(const PairScores& all, Index first, Index last) {
  PairScores part;
  part.p = all.p.middleRows(first, last - first);
  part.pbar = all.pbar.middleRows(first, last - first);
  const auto cut = [&](const auto& from, auto& to) {
    to.assign(from.begin() + first, from.begin() + last);
  };
  cut(all.y, part.y), cut(all.unit, part.unit), cut(all.weight, part.weight);
  cut(all.decision, part.decision), cut(all.decision_bar, part.decision_bar);
  cut(all.from, part.from), cut(all.to, part.to);
  return part;
}

// Where the first part of the rows ends. Pairs come two for each row.
inline Index first_part(Index count) { return 2 * (count / 5); }

inline constexpr Index kStateValues[] = {2, 3};  // of the attributes a and b

// What the states are of: a name, the state of rows [first, last), the figures of a state.

struct TallyState {
  using State = Tally;
  std::string name;
  bool three_classes = false;
  TallyPlan plan = {};

  [[nodiscard]] Tally make(const StateRows& rows, Index first, Index last) const {
    const auto from = static_cast<std::size_t>(first);
    const auto count = static_cast<std::size_t>(last - first);
    const Matrix& p = three_classes ? rows.q : rows.p;
    ScoredBlock block{
        .rows = last - first,
        .classes = p.cols(),
        .p = p.data() + first * p.cols(),
        .y = std::span(three_classes ? rows.z : rows.y).subspan(from, count),
        .decision = std::span(three_classes ? rows.decision_q : rows.decision_p)
                        .subspan(from, count),
        .code = {std::span(rows.a).subspan(from, count),
                 std::span(rows.b).subspan(from, count)},
        .weight = {}};
    if (plan.weighted) block.weight = std::span(rows.weight).subspan(from, count);
    Tally tally(plan);
    tally.add(block);
    return tally;
  }
};

inline std::vector<TallyState> tally_states() {
  const std::vector<Index> values(std::begin(kStateValues), std::end(kStateValues));
  return {{"tally", false, {.classes = 2, .favorable = 1, .values = values}},
          {"tally_weighted",
           false,
           {.classes = 2, .favorable = 1, .values = values, .weighted = true}},
          {"tally_sums",
           true,
           {.classes = 3, .favorable = 2, .values = values, .keep_rows = 0}}};
}

inline void add_figures(Figures& all, const std::string& name, const LabelTally& l) {
  all[name + " rows"] = static_cast<double>(l.rows);
  all[name + " chosen"] = static_cast<double>(l.chosen);
  all[name + " right"] = static_cast<double>(l.right);
  all[name + " weight"] = l.weight;
  all[name + " weight_chosen"] = l.weight_chosen;
  all[name + " weight_squares"] = l.weight_squares;
  all[name + " score"] = l.score;
  all[name + " score_squares"] = l.score_squares;
  all[name + " loss"] = l.loss;
  all[name + " brier"] = l.brier;
}

inline Figures figures_of(const Tally& tally) {
  Figures all;
  all["rows"] = static_cast<double>(tally.rows());
  all["kept"] =
      tally.kept() == nullptr ? -1 : static_cast<double>(tally.kept()->score.size());
  all["accuracy"] = accuracy(tally, 0.95).value;
  all["accuracy low"] = accuracy(tally, 0.95).low;
  all["log_loss"] = log_loss(tally);
  all["calibration_error"] = calibration_error(tally);
  const std::vector<std::vector<Index>> attributes = {{0}, {1}, {0, 1}};
  for (const auto& which : attributes) {
    const std::vector<GroupTally> groups = tally.groups(which);
    const std::vector<ScoreHistogram> histograms = tally.histograms(which);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::string name = fmt::format("{} of {}", g,
                                           which.size() == 2 ? "a x b"
                                           : which[0] == 0   ? "a"
                                                             : "b");
      add_figures(all, name + " unknown", groups[g].unknown);
      for (std::size_t y = 0; y < groups[g].label.size(); ++y)
        add_figures(all, fmt::format("{} label {}", name, y), groups[g].label[y]);
      if (!histograms.empty()) all[name + " auc"] = auc(score_runs(histograms[g]));
    }
  }
  return all;
}

struct FlipState {
  using State = FlipTally;
  std::string name;
  FlipPlan plan = {};

  [[nodiscard]] FlipTally make(const PairScores& pairs, Index first, Index last) const {
    FlipTally tally(plan);
    tally.add(pairs_between(pairs, first, last));
    return tally;
  }
};

inline std::vector<FlipState> flip_states() {
  return {{"flips", {.classes = 2, .values = 3}},
          {"flips_sums", {.classes = 3, .values = 3, .keep_units = 0}}};
}

inline Figures figures_of(const FlipTally& tally) {
  const FlipReport report =
      flip_report(tally, {.replicates = 50, .min_rows = 10}, Exec{.seed = 1});
  Figures all;
  all["units"] = static_cast<double>(report.units);
  all["pairs"] = static_cast<double>(report.pairs);
  all["co"] = report.co.value;
  all["co_tv"] = report.co_tv.value;
  all["co_large"] = report.co_large.value;
  all["flip_rate"] = report.flip_rate.value;
  all["share_still"] = report.share_still;
  for (const FlipCell& cell : report.cells) {
    const std::string name = fmt::format("{} to {}", cell.from, cell.to);
    all[name + " rows"] = static_cast<double>(cell.rows);
    all[name + " co"] = cell.co.value;
    all[name + " signed_change"] = cell.signed_change;
    all[name + " flip_rate"] = cell.flip_rate;
  }
  for (const FlipFigure& figure : report.figures)
    all[fmt::format("{} label {}", figure.name, figure.label)] = figure.value.value;
  return all;
}

struct HistogramState {
  using State = ScoreHistogram;
  std::string name = "histogram";

  [[nodiscard]] ScoreHistogram make(const StateRows& rows, Index first, Index last) const {
    ScoreHistogram histogram(100);
    for (Index i = first; i < last; ++i)
      histogram.add(rows.p(i, 1), rows.y[static_cast<std::size_t>(i)] == 1);
    return histogram;
  }
};

inline Figures figures_of(const ScoreHistogram& histogram) {
  const ScoreRuns runs = score_runs(histogram);
  Figures all;
  all["bins"] = static_cast<double>(histogram.bins());
  for (const ScoreMetricInfo& metric : score_metrics())
    all[metric.name] = metric.value(runs);
  return all;
}

struct ScanCountsState {
  using State = ScanCounts;
  std::string name = "scan_counts";

  [[nodiscard]] ScanCounts make(const StateRows& rows, Index first, Index last) const {
    ScanCounts counts({kStateValues[0], kStateValues[1]});
    const auto cut = [&](const auto& all) {
      return std::vector(all.begin() + first, all.begin() + last);
    };
    const Scored scored{.p = rows.p.middleRows(first, last - first),
                        .y = cut(rows.y),
                        .decision = cut(rows.decision_p),
                        .favorable = 1};
    counts.add({cut(rows.a), cut(rows.b)}, scan_outcomes(scored), {});
    return counts;
  }
};

inline Figures figures_of(const ScanCounts& counts) {
  Figures all;
  const auto put = [&](const std::string& name, std::span<const Index> values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      all[fmt::format("{} {}", name, i)] = static_cast<double>(values[i]);
  };
  put("groups", counts.groups());
  put("a", counts.one(0));
  put("b", counts.one(1));
  put("a x b", counts.two(0, 1));
  return all;
}

// Blocks of 16 rows on the tree that sums follow.
struct ScanFlipsState {
  using State = Partial<ScanFlips>;
  std::string name = "scan_flips";
  static constexpr Index kRows = 16;

  [[nodiscard]] State make(const StateRows& rows, Index first, Index last) const {
    State partial;
    for (Index block = first / kRows; block * kRows < last; ++block) {
      ScanFlips flips{std::vector<FlipSums>(2)};
      for (Index i = block * kRows; i < std::min(last, (block + 1) * kRows); ++i) {
        const double changes[] = {rows.p(i, 0) - rows.q(i, 0), rows.p(i, 0) - rows.q(i, 1)};
        for (std::size_t k = 0; k < 2; ++k) {
          const double change = std::abs(changes[k]);
          FlipSums& sums = flips.of[k];
          sums.rows += 1, sums.change += change, sums.square += change * change;
          sums.flipped += change > 0.5 ? 1 : 0;
        }
      }
      partial.insert(0, block, std::move(flips));
    }
    return partial;
  }
};

inline Figures figures_of(Partial<ScanFlips> partial) {
  Figures all;
  all["blocks"] = static_cast<double>(partial.blocks());
  const ScanFlips flips = std::move(partial).finish();
  for (std::size_t k = 0; k < flips.of.size(); ++k) {
    const FlipSums& sums = flips.of[k];
    all[fmt::format("{} rows", k)] = sums.rows;
    all[fmt::format("{} change", k)] = sums.change;
    all[fmt::format("{} square", k)] = sums.square;
    all[fmt::format("{} flipped", k)] = sums.flipped;
    all[fmt::format("{} mean_change", k)] = sums.mean_change(0.95).value;
  }
  return all;
}

// Two features of each row, the scores of three classes.
struct HessianState {
  using State = HessianSum;
  std::string name = "hessian";

  [[nodiscard]] HessianSum make(const StateRows& rows, Index first, Index last) const {
    std::vector<float> features;
    std::vector<double> weight;
    for (Index i = first; i < last; ++i) {
      features.push_back(static_cast<float>(rows.p(i, 1)));
      features.push_back(rows.weight[static_cast<std::size_t>(i)]);
      weight.push_back(static_cast<double>(rows.weight[static_cast<std::size_t>(i)]));
    }
    const FeatureBlock block{.first = first,
                             .rows = last - first,
                             .cols = 2,
                             .dense = features.data(),
                             .start = {},
                             .column = {},
                             .value = {}};
    HessianSum sum(2, 3);
    sum.add(block, rows.q.middleRows(first, last - first), weight);
    return sum;
  }
};

inline Figures figures_of(const HessianSum& sum) {
  Figures all;
  all["rows"] = static_cast<double>(sum.rows());
  const Matrix H = sum.matrix();
  for (Index i = 0; i < H.rows(); ++i)
    for (Index j = 0; j < H.cols(); ++j) all[fmt::format("{} {}", i, j)] = H(i, j);
  return all;
}

}  // namespace fmd::test
