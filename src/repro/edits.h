#pragma once

#include <string>

#include "fmd/unlearn/newton.h"
#include "repro/spec.h"
#include "repro/stage.h"

namespace fmd::repro {

// The result of an edit, and its cost.
struct Outcome {
  Vector theta;
  double seconds = 0;   // wall seconds of the edit itself, at the chosen options
  double cpu = 0;       // the same in CPU seconds of all threads
  double choosing = 0;  // seconds of all candidates and their scores on the hold-out
  bool labels = false;  // labels of the edit rows were used
  Index rows = 0;       // external rows or pairs that it learned from
  std::string chosen;
};

// H^-1 g of a Newton step, for any scale s, and its cost.
struct TimedDirection {
  UnlearnDirection direction;
  double seconds = 0;  // to find the rows, the curvature and the step
  double cpu = 0;
  double rows = 0;  // n of the curvature's mean
  Index used = 0;   // rows or pairs that are unlearned
};

// The predicted change (Eq. 5-6) of a bias of the edit side when each training row is left
// out. The measure is "co" on the pairs, or a group measure on the rows. Linear heads only.
[[nodiscard]] std::vector<double> row_influence(const Stage& stage,
                                                const std::string& measure,
                                                const Exec& exec);
// Eq. 7 or 8 (setting "equation"), for the K training rows that are most harmful by
// row_influence(). The measure is the setting "measure", "co" when it is absent.
[[nodiscard]] TimedDirection remove_direction(const Stage& stage, const Settings& settings,
                                              const Exec& exec);
// Eq. 9 for the edit pairs. H is taken over the training rows, or (external) over both
// sides of the edit pairs.
[[nodiscard]] TimedDirection pairs_direction(const Stage& stage, bool external,
                                             const Exec& exec);
// The step with s = 1 as printed, or with an s that is chosen on the hold-out among powers
// of 2 times 1/n.
[[nodiscard]] Outcome take_step(const Stage& stage, const TimedDirection& direction,
                                bool printed, const Rule& rule, const Exec& exec);

// All logits divided by the T of lowest log loss on the hold-out. Linear heads only.
[[nodiscard]] Outcome tempered_head(const Stage& stage, const Exec& exec);
// The last layer's intercepts alone, fitted to the labels of both sides of the edit pairs.
[[nodiscard]] Outcome intercepts(const Stage& stage, const Exec& exec);

// solve() or, with the setting by = "adam", solve_adam() with fresh draws where the stage
// has them. Settings: lambda (list), anchor, fit, mu, tolerance, max_iterations; for Adam
// epochs, batch, learning_rate.
[[nodiscard]] Outcome solved(const Stage& stage, const Settings& settings,
                             const Exec& exec);

// Control: plain fine-tuning of the same layers on both sides of the edit pairs, by Adam
// until the loss on a tenth of them stops falling.
[[nodiscard]] Outcome trained_on_pairs(const Stage& stage, const Settings& settings,
                                       const Exec& exec);
// Control: deep feature reweighting on both sides of the edit pairs, one class against the
// others, as in the published logistic regression. C is chosen on the hold-out. The logits
// of the classes are used as those of a softmax. Linear heads only.
[[nodiscard]] Outcome dfr(const Stage& stage, const Settings& settings, const Exec& exec);

}  // namespace fmd::repro
