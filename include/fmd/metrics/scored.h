#pragma once

#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// Rows with a model's probabilities: what every metric looks at, wherever the scores came
// from.
struct Scored {
  Matrix p;  // rows x classes
  std::vector<std::int32_t>
      y;  // class of the label, -1 = unknown; empty = no labels at all
  std::vector<std::int32_t> decision;  // class that was decided
  int favorable = -1;                  // class that is good for the person; -1 = none named
  std::vector<float> weight = {};      // of each row; empty = 1. Changes count rows alike

  [[nodiscard]] Index rows() const { return p.rows(); }
  [[nodiscard]] bool labelled() const { return !y.empty(); }
};

// Two classes: 1 where p1 >= threshold; more: the most probable one (the first of equals).
[[nodiscard]] std::vector<std::int32_t> decide(const Matrix& p, double threshold);

// The threshold that answers the share `rate` of the rows with class 1 (as near as ties
// allow), half way between the two scores that it divides. Throws Error (bad_option,
// bad_data).
[[nodiscard]] double threshold_for_rate(const Matrix& p, double rate);

// Rows with unknown labels are left out. Undefined without labels. Throw Error(bad_shape)
// when sizes disagree and Error(bad_option) for labels that are no class.
[[nodiscard]] Interval accuracy(const Scored& scored, double confidence);  // Wilson
[[nodiscard]] double log_loss(const Scored& scored);  // mean -log p_y, p_y >= 2^-52
// Expected calibration error: of the top class (two classes: of class 1), 10 equal-width
// bins.
[[nodiscard]] double calibration_error(const Scored& scored);
// Area under the ROC curve of `score` for `positive`, ties count half; NaN when one side is
// empty.
[[nodiscard]] double auc(const std::vector<double>& score,
                         const std::vector<bool>& positive);

// correct(after) - correct(before) on the same rows, by row bootstrap (on the counts of
// rows that became right, became wrong and stayed, which is the same). Throws
// Error(bad_shape).
[[nodiscard]] Interval accuracy_change(const Scored& before, const Scored& after,
                                       double confidence, Index replicates,
                                       const Exec& exec);

}  // namespace fmd
