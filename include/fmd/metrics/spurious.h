#pragma once

#include <vector>

#include "fmd/metrics/confusion.h"

namespace fmd {

// Accuracy by label and attribute: what a model that leans on a spurious attribute gets
// wrong shows in the cells where label and attribute seldom meet. Cell (y, a) is entry
// y * attributes + a: rows decided rightly of all rows.
struct LabelAttributeTable {
  Index labels = 0, attributes = 0;
  std::vector<Share> cells;
};

// Every figure leaves cells without rows out and is undefined when none is left. Throw
// Error (bad_shape; bad_option for counts that are no share).

// The cell with the smallest accuracy, with its Wilson interval.
struct WorstCell {
  Interval accuracy;
  int label = -1, attribute = -1;
};
[[nodiscard]] WorstCell worst_cell(const LabelAttributeTable& table, double confidence);

// Mean accuracy of the cells, each counting alike. Interval: the cells' Wilson intervals
// put together as Newcombe does for two.
[[nodiscard]] Interval unbiased_accuracy(const LabelAttributeTable& table,
                                         double confidence);

// Mean weighted by the cells' shares of the training rows, for test sets whose cells are
// balanced. training: rows per cell. Undefined when a cell with training rows has no rows.
[[nodiscard]] Interval reweighted_accuracy(const LabelAttributeTable& table,
                                           const std::vector<double>& training,
                                           double confidence);

// For each label the attribute that goes with it: the one that is most frequent among the
// label's rows in proportion to its share of all rows, by rows per cell. -1: no rows.
[[nodiscard]] std::vector<int> aligned_attributes(Index labels, Index attributes,
                                                  const std::vector<double>& rows);

// Accuracy of rows whose attribute is their label's (bias-aligned), of the others
// (bias-conflicting), and the first minus the second (Newcombe).
struct AlignedAccuracy {
  Interval aligned, conflicting, gap;
};
[[nodiscard]] AlignedAccuracy aligned_accuracy(const LabelAttributeTable& table,
                                               const std::vector<int>& aligned,
                                               double confidence);

}  // namespace fmd
