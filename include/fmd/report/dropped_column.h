#pragma once

#include <string>
#include <vector>

#include "fmd/metrics/interval.h"

namespace fmd {

// A trivial control beside a repair: the attribute's column is dropped.
struct DroppedColumn {
  std::string control;    // "column_averaged" | "retrained_without_column"
  bool retrains = false;  // it needs the training rows, and training
  Interval accuracy;      // of the control minus that of the repair, paired
  // Its flip gap is at most the repair's, within the repair's interval, and its accuracy is
  // not lower beyond the paired interval.
  bool as_well = false;
};

// gap: of the control; undefined: it does not read the attribute. repaired: of the repair.
[[nodiscard]] DroppedColumn dropped_column(std::string control, bool retrains,
                                           const Interval& accuracy, const Interval& gap,
                                           const Interval& repaired);

// One line: whether dropping the column does as well as the repair, and what it needs. ""
// where there is no such control. repair: its name in the sentence.
[[nodiscard]] std::string dropped_column_words(const std::vector<DroppedColumn>& controls,
                                               const std::string& repair);

}  // namespace fmd
