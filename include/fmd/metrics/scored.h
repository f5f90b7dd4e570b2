#pragma once

#include <cstdint>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// Rows with a model's probabilities: the input of every metric, whatever the scores come
// from.
struct Scored {
  Matrix p;                     // rows x classes
  std::vector<std::int32_t> y;  // class of the label; -1 = unknown; empty = no labels
  std::vector<std::int32_t> decision;  // class that was decided
  int favorable = -1;                  // class that is good for the person; -1 = none named
  // Of each row; empty = 1. accuracy_change() and group_difference_change() ignore weights.
  std::vector<float> weight = {};

  [[nodiscard]] Index rows() const { return p.rows(); }
  [[nodiscard]] bool labelled() const { return !y.empty(); }
};

// Two classes: 1 where p1 >= threshold. More: the most probable class, the first of equals.
[[nodiscard]] std::vector<std::int32_t> decide(const Matrix& p, double threshold);

// The threshold that gives class 1 to the share `rate` of the rows, as near as ties allow.
// It lies half way between the two scores that it divides. Throws Error (bad_option,
// bad_data, bad_value).
[[nodiscard]] double threshold_for_rate(const Matrix& p, double rate);

// Rows with unknown labels are left out. Undefined without labels. Throw Error (bad_shape
// when sizes disagree; bad_option for labels that are not classes).
[[nodiscard]] Interval accuracy(const Scored& scored, double confidence);  // Wilson
[[nodiscard]] double log_loss(const Scored& scored);  // mean -log p_y, p_y >= 2^-52
// Expected calibration error of the top class (two classes: of class 1), in 10 bins of
// equal width.
[[nodiscard]] double calibration_error(const Scored& scored);
// Area under the ROC curve of `score` for `positive`. Ties count half. NaN when one side is
// empty.
[[nodiscard]] double auc(const std::vector<double>& score,
                         const std::vector<bool>& positive);

// accuracy(after) - accuracy(before) on the same rows, by bootstrap of the counts of rows
// that became right, became wrong and stayed. Resampling the rows gives the same. Throws
// Error (bad_shape, bad_option).
[[nodiscard]] Interval accuracy_change(const Scored& before, const Scored& after,
                                       double confidence, Index replicates,
                                       const Exec& exec);

}  // namespace fmd
