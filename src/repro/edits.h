#pragma once

#include <map>
#include <string>

#include "repro/spec.h"
#include "repro/stage.h"

namespace fmd::repro {

// What an edit left, and what it took.
struct Outcome {
  Vector theta;
  double seconds = 0;   // of the edit itself, at the options that were chosen
  double cpu = 0;       // the same in CPU seconds of all threads
  double choosing = 0;  // of all candidates and their scores on the hold-out
  bool labels = false;  // labels of the edit rows were used
  Index rows = 0;       // external rows or pairs that it learned from
  std::string chosen;
};

// A Newton step's direction, H^-1 g, for any scale s.
struct NewtonDirection {
  Vector step;
  double seconds = 0;  // to find the rows, the curvature and the step
  double cpu = 0;
  double rows = 0;  // n of the curvature's mean
  Index used = 0;   // rows or pairs that are unlearned
};

// Predicted change of a bias (Eq. 5-6) of the edit side without each training row: "co" on
// its pairs, or a group measure on its rows. Linear heads.
[[nodiscard]] std::vector<double> row_influence(const Stage& stage,
                                                const std::string& measure,
                                                const Exec& exec);
// Eq. 7 and 8 (the word equation): the K training rows that the bias (the word measure,
// "co" when absent) rests on most.
[[nodiscard]] NewtonDirection remove_direction(const Stage& stage, const Settings& settings,
                                               const Exec& exec);
// Eq. 9: the edit pairs. H over the training rows, or over both sides of the edit pairs.
[[nodiscard]] NewtonDirection pairs_direction(const Stage& stage, bool external,
                                              const Exec& exec);
// s = 1 as printed, or chosen on the hold-out over powers of 2 times 1/n.
[[nodiscard]] Outcome take_step(const Stage& stage, const NewtonDirection& direction,
                                bool printed, const Rule& rule, const Exec& exec);

// All logits divided by the T of least log loss on the hold-out. Linear heads.
[[nodiscard]] Outcome tempered(const Stage& stage, const Exec& exec);
// The last layer's intercepts alone, fitted to the labels of both sides of the edit pairs.
[[nodiscard]] Outcome intercepts(const Stage& stage, const Exec& exec);

// solve() or, with the word adam = "yes", solve_adam() with fresh draws: settings lambda
// (list), anchor, fit, mu, epochs, batch, learning_rate.
[[nodiscard]] Outcome solved(const Stage& stage, const Settings& settings,
                             const Exec& exec);

// Controls. Plain fine-tuning of the same layers on both sides of the edit pairs, by Adam
// until the loss on a tenth of them stops falling.
[[nodiscard]] Outcome fine_tuned(const Stage& stage, const Settings& settings,
                                 const Exec& exec);
// Deep feature reweighting on both sides of the edit pairs, one class against the others
// (the published one's logistic regression does the same); C chosen on the hold-out. The
// classes' logits are taken as those of a softmax. Linear heads.
[[nodiscard]] Outcome dfr(const Stage& stage, const Settings& settings, const Exec& exec);

}  // namespace fmd::repro
