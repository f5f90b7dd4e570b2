#pragma once

#include <span>
#include <vector>

#include "fmd/influence/influence.h"
#include "fmd/model/linear_head.h"

namespace fmd {

// What really happens when rows are left out, next to what was predicted.

struct RemovalCheck {
  Index rows = 0;
  double predicted = 0;    // sum of the rows' predicted changes
  double newton = 0;       // |B| after one Newton step with H over the kept rows, minus |B|
  double refitted = 0;     // |B| at the optimum of F without the rows, minus |B|
  bool capped = false;     // predicted was below -|B|, the lowest possible: set to -|B|
  bool converged = false;  // the refit reached its optimum; never true for a network
  // A network is not refitted. It is trained further from theta, with and without the rows.
  // Such a training can end at many models; this is one of them.
  bool fine_tuned = false;
};

struct RefitOptions {
  double l2 = 0;            // of F
  double rows_in_mean = 0;  // n of F; 0 = train.size()
  double relative_gradient = 1e-8;
  // Networks: the number of epochs of Adam from theta. Rows that are left out keep their
  // place in the minibatches with weight 0, so two trainings differ by these rows alone.
  int epochs = 20;
  double learning_rate = 1e-4;
  Index max_dense = kMostDense;  // linear heads: see CurvatureOptions
};

// The optimum of F without the given entries of `train` (their weight is 0; n and l2 stay),
// started from theta. A network is trained further without them. Throws what train_linear
// and train_adam throw.
[[nodiscard]] Vector refit_without(const Head& head, const Rows& train, const Vector& theta,
                                   std::span<const Index> entries,
                                   const RefitOptions& options, const Exec& exec,
                                   bool* converged = nullptr);

// The three changes of the target when the given entries are left out. A linear head starts
// from the optimum of F with all rows, which is theta where theta is an optimum. A network
// starts from theta trained further with all rows, in the same way. change: the target's
// column of InfluenceResult::change.
[[nodiscard]] RemovalCheck check_removal(const Head& head, const Rows& train,
                                         const Vector& theta, const BiasTarget& target,
                                         std::span<const double> change,
                                         std::span<const Index> entries,
                                         const RefitOptions& options, const Exec& exec);

struct Removal {
  std::vector<Index> entries;        // left out, in the order they were chosen
  std::vector<RemovalCheck> rounds;  // per round: predicted and refitted change of it alone
  Vector theta;                      // the optimum of F without them
  double before = 0, after = 0;      // |B|
  bool stopped = false;              // a round changed less than half of what was predicted
};

struct RemovalOptions {
  Index count = 100;    // rows to leave out in all
  Index per_round = 0;  // 0 = as many as are predicted to lower |B| by a tenth
  CurvatureOptions curvature = {};
};

// Leaves out the rows that most_harmful() ranks first, in rounds: rank, leave out, refit,
// rank again. Stops when the measured change of a round is less than half of its predicted
// change.
[[nodiscard]] Removal remove_in_rounds(const LinearHead& head, const Rows& train,
                                       const Vector& theta, const BiasTarget& target,
                                       const RemovalOptions& options, const Exec& exec);

}  // namespace fmd
