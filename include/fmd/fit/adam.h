#pragma once

#include <cstdint>
#include <functional>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"

namespace fmd {

class Head;
struct Rows;

struct AdamOptions {
  double l2 = -1;               // of F; -1 = 1/n
  int epochs = 200;             // at most; >= 1
  Index batch = 256;            // rows in one step; >= 1
  double learning_rate = 1e-3;  // > 0
  // Share of the rows that is held back to decide when to stop; 0 = none: all epochs are
  // run. In [0, .5].
  double validation = 0.1;
  int patience = 10;  // stop after this many epochs without a lower validation loss; >= 1
  // Called after every `watch_steps` steps, counted from the start, with the parameters of
  // that step. When it returns false, training stops, and these parameters are the result.
  Index watch_steps = 0;  // >= 0; 0 = never
  std::function<bool(Index step, const Vector& theta)> watch = {};
};

enum class AdamStatus {
  not_run,
  stopped_early,  // the validation loss stopped falling; its lowest point is the result
  all_epochs,     // done; with held back rows the lowest validation loss is the result
  told_to_stop,   // by `watch`
  diverged,       // the loss became infinite or NaN; the last good point is the result
};

struct AdamSummary {
  AdamStatus status = AdamStatus::not_run;
  int epochs = 0;      // number of epochs that were run
  int best_epoch = 0;  // the epoch that gave the result; 0 = the start
  Index validation_rows = 0;
  double validation_loss = 0;    // mean log loss there, of the result; NaN without rows
  double objective = 0;          // F of the result, over all rows
  double relative_gradient = 0;  // |grad F| there / |grad F| at the start
  double l2 = 0;                 // as used
};

struct AdamResult {
  Vector theta;
  AdamSummary summary;
};

// Where training starts: normal weights of variance 2 / inputs in hidden layers and
// 1 / inputs in the last layer, intercepts 0.
[[nodiscard]] Vector initial_theta(const Head& head, std::uint64_t seed);

// Minimises F(theta) = (1/n) sum_i w_i L_i + (l2/2) |theta without intercepts|^2 for any
// head by Adam (decay .9 and .999) over shuffled minibatches, with early stopping. The rows
// held back, the order of rows and the start are drawn from exec.seed. Gradients are sums
// of fixed pieces: same seed, same bits, for any number of threads. start empty =
// initial_theta. Reports progress as "training". Throws Error(bad_option, bad_shape,
// bad_data: no rows, or a label that is unknown).
[[nodiscard]] AdamResult train_adam(const Head& head, const Rows& rows,
                                    const AdamOptions& options, const Exec& exec,
                                    const Vector& start = {});

}  // namespace fmd
