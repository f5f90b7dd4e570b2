#include "fmd/report/dropped_column.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fmd {
namespace {

std::string points(const DroppedColumn& one) {
  return fmt::format("accuracy {:+.1f} points ({:+.1f} .. {:+.1f})",
                     100 * one.accuracy.value, 100 * one.accuracy.low,
                     100 * one.accuracy.high);
}

}  // namespace

DroppedColumn dropped_column(std::string control, bool retrains, const Interval& accuracy,
                             const Interval& gap, const Interval& repaired) {
  const bool gap_is_small =
      !gap.defined() || gap.value <= std::max(repaired.value, repaired.high);
  return {.control = std::move(control),
          .retrains = retrains,
          .accuracy = accuracy,
          .as_well = gap_is_small && accuracy.high >= 0};
}

std::string dropped_column_words(const std::vector<DroppedColumn>& controls,
                                 const std::string& repair) {
  const DroppedColumn* best = nullptr;  // the first that does as well without training
  for (const DroppedColumn& one : controls)
    if (one.as_well && (best == nullptr || (best->retrains && !one.retrains))) best = &one;
  if (best != nullptr)
    return fmt::format("Dropping the column does as well as {}, {}: {}.", repair,
                       best->retrains ? "but it needs retraining"
                                      : "averaged in the head, without retraining",
                       points(*best));
  std::string words;
  for (const DroppedColumn& one : controls)
    words += fmt::format("{}{}, {}", words.empty() ? "" : "; ",
                         one.retrains ? "retrained" : "averaged", points(one));
  return words.empty()
             ? ""
             : fmt::format("Dropping the column does worse than {}: {}.", repair, words);
}

}  // namespace fmd
