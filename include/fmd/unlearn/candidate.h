#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// A model that could be chosen, fitted on all edit rows. Its figures are those of the
// hold-out; with folds, those of each fold's rows under what came out without them. Part
// `repair` makes and chooses them, part `report` writes them.
struct Candidate {
  double lambda = kUndefined;  // solve, path: where on the path; infinity: average-column
  double s = kUndefined;       // step, remove, replace: the factor on the Newton step
  Index K = 0;                 // remove, replace: number of training rows
  double gamma = kUndefined;   // solve on matched pairs: weight of the squared odds gaps,
  double mu = kUndefined;      // and of staying close in the parameters
  Index polish = 0;            // trees: steps over all leaves after lambda's repair
  std::string kind;            // the method; "path" has the quadratic anchor of "solve"
  Vector theta;
  Interval accuracy, accuracy_change;       // change: paired with the original
  std::vector<Interval> bias, bias_change;  // of the chosen measure, per repaired attribute
  double most_loss = kUndefined;            // of accuracy, at the risk: see RepairOptions
  double log_loss = kUndefined;
  bool keeps_flips =
      true;  // a target on a group gap: flip gaps are not above the original's
  bool keeps_rules = true;   // HeadProblem::keeps_rules
  bool lowers_bias = false;  // paired upper end < 0 for every repaired attribute
  Verdict target = Verdict::none;
};

// What is known about a candidate's loss of accuracy. none: the rule has no budget.
// not_proven: only its point estimate keeps the budget. exceeded: not even that.
enum class Budget { none, proven, not_proven, exceeded };
[[nodiscard]] std::string to_string(Budget budget);  // "none", "proven", "not proven", ...

// The prediction for a repaired attribute's flip gap, made before anything was measured.
struct Predicted {
  double value = kUndefined, change = kUndefined;
  bool capped = false;  // the predicted change is larger than the gap: value is set to 0
};

}  // namespace fmd
