#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// A model that could be chosen, measured on the hold-out. Part `repair` makes and chooses
// them, part `report` writes them.
struct Candidate {
  double lambda = kUndefined;  // solve, path: where on the path; infinity: average-column
  double s = kUndefined;       // step, remove, replace: the factor on the Newton step
  Index K = 0;                 // remove, replace: number of training rows
  double gamma = kUndefined;   // solve on matched pairs: weight of the squared odds gaps,
  double mu = kUndefined;      // and of staying close in the parameters
  std::string kind;            // the method; "path" has the quadratic anchor of "solve"
  Vector theta;
  Interval accuracy, accuracy_change;       // change: paired with the original
  std::vector<Interval> bias, bias_change;  // of the chosen measure, per repaired attribute
  double log_loss = kUndefined;
  bool lowers_bias = false;        // paired upper end < 0 for every repaired attribute
  Verdict target = Verdict::none;  // on the hold-out
};

// The prediction for a repaired attribute's flip gap, made before anything was measured.
struct Predicted {
  double value = kUndefined, change = kUndefined;
  bool capped = false;  // the predicted change is larger than the gap: value is set to 0
};

}  // namespace fmd
