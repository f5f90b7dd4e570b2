#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/metrics/confusion.h"
#include "fmd/metrics/tally.h"

namespace fmd::internal {

// A group as its rates and criteria see it.
struct CountedGroup {
  Confusion sums, squares;  // of weights and of their squares: the counts without weights
  // Rightly and wrongly decided rows in the places of TP and FP: for accuracies of many
  // classes. A table of "favourable or not" does not have them.
  Confusion right, right_squares;
  std::vector<Confusion> replicates, right_replicates;  // empty before resample()
  // The tables that are resampled: whole numbers, with weights the effective ones.
  Confusion whole, right_whole;

  CountedGroup(const GroupTally& group, int favorable);
  // Fills whole and replicates; right_replicates only when they are asked for.
  void resample(Index count, bool also_right, const Exec& exec);
};

// Acceleration of a figure of several groups, by the jackknife of their tables.
[[nodiscard]] double table_acceleration(
    const std::vector<const Confusion*>& tables,
    const std::function<double(const std::vector<Confusion>&)>& figure);

// Which rates and criteria a plan allows, and why not the others.
struct FigureRules {
  bool labelled = true, named = true, two_classes = true;
  // Why a figure is undefined; empty: it is defined. rate: the rate that the figure is
  // computed from; null = several.
  [[nodiscard]] std::string reason(const char* rate) const;
  [[nodiscard]] bool of_right(const char* rate) const;  // by CountedGroup::right
};

}  // namespace fmd::internal
