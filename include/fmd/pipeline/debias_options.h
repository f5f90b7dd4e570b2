#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fmd/curvature/inverse_hessian.h"
#include "fmd/data/task.h"
#include "fmd/pipeline/audit.h"

namespace fmd {

// Names the candidate that is taken: "lambda=10" for solve and path, "s=.001" for step,
// "s=.001,K=100" for remove and replace, "gamma=10,mu=.001" for solve on matched pairs.
struct CandidateAt {
  std::optional<double> lambda, s, gamma, mu;
  std::optional<Index> rows;  // K

  [[nodiscard]] bool any() const { return lambda || s || rows || gamma || mu; }
};
[[nodiscard]] CandidateAt parse_at(const std::string& text);  // Error(bad_option)
[[nodiscard]] std::string to_string(const CandidateAt& at);

// For the methods step, remove and replace: theta + s H^-1 (sum_out grad L - sum_in grad
// L).
struct NewtonOptions {
  // s: "auto" (chosen on the hold-out among powers of 2, from 1/(16 n) or a little less up
  // to 1), "as-printed" (1), "removal" (1/n, n = rows in the Hessian's data) or a number.
  std::string scale = "auto";
  Index rows = 0;   // K of remove and replace; 0 = chosen on the hold-out: 10, 30, 100, ...
                    // up to a tenth of the training rows
  int refresh = 1;  // this many steps of s / refresh, with new H and gradients before each
  Solver solver = Solver::automatic;  // for H from training rows
};
// s of a scale other than "auto". Throws Error(bad_option).
[[nodiscard]] double scale_factor(const std::string& scale, double n);

struct DebiasOptions {
  std::string method = "solve";  // solve | path (solve's quadratic form: faster for
                                 // large heads) | step | remove | replace |
                                 // average-column
  Index layers = 1;  // of a network: the top layers that are changed; those below are held
  // solve on two or more layers: "lm" (Levenberg-Marquardt), "adam" (minibatches) or "auto"
  // (adam, with gaps lm)
  std::string optimizer = "auto";
  std::vector<std::string> repair;  // attributes; empty = all of the task that are read
  std::optional<Limit> target;      // most accurate candidate that passes this
  double max_accuracy_loss = 0.01;  // without a target: least bias within this budget
  CandidateAt at;                   // take this candidate: no choice is made
  bool best_effort = false;         // no candidate: take the least biased one
  bool keep_rate = false;           // shift the intercept so that the favourable rate stays
  double holdout_share = 0.2;
  std::string hessian;  // H from "train" or "data" (the edit part; for step, remove and
                        // replace both sides of its pairs); empty = train where given
  Index points = 30;    // candidates along the path
  double anchor = 1, fit = 0;
  double mu = -1;           // -1 = the model's l2
  std::vector<Limit> gaps;  // "demographic_parity_soft:sex=10": gamma of a soft group
                            // gap in solve's objective
  NewtonOptions newton;
  AuditOptions audit;
};

// All options as JSON text, in the form that receipts hold, and back: a run can be repeated
// from them. parse_options throws Error(bad_model) that names the source and the key.
[[nodiscard]] std::string options_json(const DebiasOptions& options, std::uint64_t seed);
struct ParsedOptions {
  DebiasOptions options;
  std::uint64_t seed = 1;
};
[[nodiscard]] ParsedOptions parse_options(const std::string& json,
                                          const std::string& source);

}  // namespace fmd
