#pragma once

#include <vector>

#include "fmd/influence/influence.h"

namespace fmd {

// What leaving rows out really does, beside what was predicted.

struct RemovalCheck {
  Index rows = 0;
  double predicted = 0;    // sum of the rows' predicted changes
  double newton = 0;       // |B| after one Newton step with H over the kept rows, minus |B|
  double refitted = 0;     // |B| at the optimum of F without the rows, minus |B|
  bool capped = false;     // predicted less than -|B|, which cannot be: set to -|B|
  bool converged = false;  // the refit reached its optimum; never so for a network
  bool fine_tuned = false;  // a network: trained on from theta instead, with and without
                            // the rows; one of many models that such a training may end at
};

struct RefitOptions {
  double l2 = 0;            // of F
  double rows_in_mean = 0;  // n of F; 0 = train.size()
  double relative_gradient = 1e-8;
  // Networks: so many epochs of Adam from theta, in an order that does not depend on what
  // is left out, so that two of them differ by the rows alone.
  int epochs = 20;
  double learning_rate = 1e-4;
};

// The optimum of F without the given entries of `train` (their weight is 0; n and l2 stay),
// started from theta; a network is trained on without them. Throws what train_linear and
// train_adam throw.
[[nodiscard]] Vector refit_without(const Head& head, const Rows& train, const Vector& theta,
                                   std::span<const Index> entries,
                                   const RefitOptions& options, const Exec& exec,
                                   bool* converged = nullptr);

// The three changes of the target, from the optimum of F with all rows (which is theta
// where that is one), when the given entries are left out; of a network from theta trained
// on with all rows, in the same way. change: the target's column of InfluenceResult.
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
  Index per_round = 0;  // 0 = as many as a tenth of |B| is predicted to rest on
  CurvatureOptions curvature = {};
};

// Leaves out the rows that the gap rests on most, in rounds: rank, leave out, refit, rank
// again. Stops when a round's measured change is less than half of its predicted one.
[[nodiscard]] Removal remove_in_rounds(const LinearHead& head, const Rows& train,
                                       const Vector& theta, const BiasTarget& target,
                                       const RemovalOptions& options, const Exec& exec);

}  // namespace fmd
