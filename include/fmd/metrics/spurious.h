#pragma once

#include <vector>

#include "fmd/metrics/confusion.h"

namespace fmd {

// Accuracy by label and attribute. A model that uses a spurious attribute is wrong in the
// cells where this label and this attribute seldom occur together. Cell (y, a) is entry
// y * attributes + a: rightly decided rows of all rows.
struct LabelAttributeTable {
  Index labels = 0, attributes = 0;
  std::vector<Share> cells;
};

// Every figure leaves out cells without rows and is undefined when none is left. All throw
// Error (bad_shape; bad_option for counts that are not shares).

// The cell with the smallest accuracy, with its Wilson interval.
struct WorstCell {
  Interval accuracy;
  int label = -1, attribute = -1;
};
[[nodiscard]] WorstCell worst_cell(const LabelAttributeTable& table, double confidence);

// Mean accuracy of the cells; all cells count the same. Interval: the Wilson intervals of
// the cells, put together as Newcombe does for two.
[[nodiscard]] Interval unbiased_accuracy(const LabelAttributeTable& table,
                                         double confidence);

// Mean weighted by the cells' shares of the training rows, for test sets with balanced
// cells. training: rows per cell. Undefined when a cell with training rows has no rows.
[[nodiscard]] Interval reweighted_accuracy(const LabelAttributeTable& table,
                                           const std::vector<double>& training,
                                           double confidence);

// For each label the attribute that goes with it: the attribute that is most frequent among
// the label's rows in proportion to its share of all rows. rows: per cell. -1: the label
// has no rows.
[[nodiscard]] std::vector<int> aligned_attributes(Index labels, Index attributes,
                                                  const std::vector<double>& rows);

// Accuracy of rows whose attribute goes with their label (bias-aligned), accuracy of the
// others (bias-conflicting), and the first minus the second (Newcombe).
struct AlignedAccuracy {
  Interval aligned, conflicting, gap;
};
[[nodiscard]] AlignedAccuracy aligned_accuracy(const LabelAttributeTable& table,
                                               const std::vector<int>& aligned,
                                               double confidence);

}  // namespace fmd
