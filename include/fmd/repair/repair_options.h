#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/data/limit.h"

namespace fmd {

// How a head is repaired. The functions stand in one table, src/repair/candidates.cpp.
enum class RepairMethod {
  solve,           // consistency with an anchor: fmd/unlearn/solve.h
  path,            // its quadratic form, faster for large heads: fmd/unlearn/path.h
  step,            // Newton step on the pairs, Eq. 9: fmd/unlearn/newton.h
  remove,          // training rows taken out, Eq. 7
  replace,         // training rows exchanged for their flips, Eq. 8
  average_column,  // the attribute's features replaced by their means
};
[[nodiscard]] std::string to_string(RepairMethod method);          // "average-column"
[[nodiscard]] RepairMethod parse_method(const std::string& name);  // Error(bad_option)
[[nodiscard]] bool is_newton(RepairMethod method);  // step, remove or replace

// solve on two or more layers of a network: Levenberg-Marquardt, or Adam on minibatches.
// automatic is adam, with gaps lm: a minibatch gives no estimate of a gap.
enum class NetworkOptimizer { automatic, lm, adam };
[[nodiscard]] std::string to_string(NetworkOptimizer optimizer);  // "auto", ...
[[nodiscard]] NetworkOptimizer parse_optimizer(const std::string& name);

// The rows of H: training rows, or those of the edit part (for step, remove and replace
// both sides of its pairs). automatic is train where training rows are given.
enum class HessianRows { automatic, train, data };
[[nodiscard]] std::string to_string(HessianRows rows);  // "", "train" or "data"
[[nodiscard]] HessianRows parse_hessian(const std::string& name);

// The factor s on a Newton step. n = rows in the Hessian's data.
struct StepScale {
  enum class Kind {
    chosen,      // on the hold-out, among powers of 2 from 1/(16 n) or less up to 1
    as_printed,  // 1
    removal,     // 1/n
    number,
  };
  Kind kind = Kind::chosen;
  double value = 0;       // number
  std::string text = "";  // number: as it was written

  [[nodiscard]] double factor(double n) const;  // not for `chosen`
};
[[nodiscard]] std::string to_string(const StepScale& scale);
// "auto", "as-printed", "removal" or a number > 0. Throws Error(bad_option).
[[nodiscard]] StepScale parse_scale(const std::string& text);

// Trees: after the repair of the leaves that a flip reaches, a few steps over all leaves.
// automatic: where the first repair loses accuracy.
enum class Polish { automatic, on, off };
[[nodiscard]] std::string to_string(Polish polish);  // "auto", "on" or "off"
[[nodiscard]] Polish parse_polish(const std::string& name);

// Names the candidate that is taken: "lambda=10" for solve and path ("lambda=10,polish=5"
// where leaves of trees were polished), "s=.001" for step,
// "s=.001,K=100" for remove and replace, "gamma=10,mu=.001" for solve on matched pairs.
struct CandidateAt {
  std::optional<double> lambda, s, gamma, mu;
  std::optional<Index> rows;  // K
  std::optional<Index> polish;

  [[nodiscard]] bool any() const { return lambda || s || rows || gamma || mu; }
};
[[nodiscard]] CandidateAt parse_at(const std::string& text);  // Error(bad_option)
[[nodiscard]] std::string to_string(const CandidateAt& at);

// For the methods step, remove and replace: theta + s H^-1 (sum_out grad L - sum_in grad
// L).
struct NewtonOptions {
  StepScale scale;
  Index rows = 0;   // K of remove and replace; 0 = chosen on the hold-out: 10, 30, 100, ...
                    // up to a tenth of the training rows
  int refresh = 1;  // this many steps of s / refresh, with new H and gradients before each
  Solver solver = Solver::automatic;  // for H from training rows
};

// What candidates are made, and how one is chosen.
struct RepairOptions {
  RepairMethod method = RepairMethod::solve;
  NetworkOptimizer optimizer = NetworkOptimizer::automatic;
  std::optional<Limit> target;  // most accurate candidate that passes this
  // A target on `co` of more than two values judges their mean, as receipts of schema 1 do,
  // and not the worst pair of values.
  bool target_on_mean = false;
  // With a target on a group gap: candidates may raise the flip gap. Otherwise they must
  // not.
  bool may_use_attribute = false;
  // Nothing is repaired when the bias that the choice looks at is at most this for every
  // repaired attribute (the paper's delta). 0: always repaired.
  double only_if_over = 0;
  double max_accuracy_loss = 0.01;  // without a target: least bias within this budget
  // The chance that a choice exceeds the budget: the budget is judged at the upper end of
  // the paired interval. In (0, .5]; .5 judges the point estimate.
  double risk = 0.05;
  bool strict = false;       // a budget that is not proven is not met
  CandidateAt at;            // take this candidate: no choice is made
  bool best_effort = false;  // no candidate: take the least biased one
  bool keep_rate = false;    // shift the intercept so that the favourable rate stays
  HessianRows hessian = HessianRows::automatic;
  Polish polish = Polish::automatic;
  Index points = 30;  // candidates along the path
  double anchor = 1, fit = 0;
  double mu = -1;           // -1 = the model's l2
  std::vector<Limit> gaps;  // "demographic_parity_soft:sex=10": gamma of a soft group
                            // gap in solve's objective
  NewtonOptions newton;
};

// Throws Error(bad_option) that names the option, its value and what it must be.
void validate(const RepairOptions& options, bool has_train);

}  // namespace fmd
