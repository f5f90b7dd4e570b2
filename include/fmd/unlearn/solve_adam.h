#pragma once

#include <functional>
#include <span>

#include "fmd/unlearn/solve.h"

namespace fmd {

// Minimises J of solve.h by Adam over minibatches: for heads with hidden layers and many
// pairs, or for pairs that are drawn again in each epoch.

struct SolveAdamOptions {
  int epochs = 80;              // >= 1
  Index batch = 256;            // pairs in one Adam step, and as many rows; >= 1
  double learning_rate = 1e-3;  // > 0; falls to 0 along a cosine over the epochs
  // Steps of an epoch at most: it then ends before all of its pairs were seen. 0 = all.
  Index max_steps = 0;
};

// The pairs of an epoch (epoch = 1, 2, ...), valid until the next call. There must be as
// many sets as in `pairs`; their sizes may differ.
using PairsOfEpoch = std::function<std::span<const PairSet>(int epoch)>;

// One Adam step takes `batch` pairs, a share from each set, and as many rows for the
// anchor. It lowers the estimate of J from these. Pairs and rows are shuffled in each
// epoch. redraw null = the given pairs in each epoch. The result is that of the last epoch.
// If theta stops being finite, the result is the last finite one, with status stopped. In
// the summary, iterations are epochs; objective and gradient are those of J on the given
// pairs, of more than 32,768 on those of evenly spread units. Gradients are sums of fixed
// pieces: the same seed gives the same bits for any number of threads. Progress is reported
// as "solve". Throws what solve throws, and Error(unsupported) for gaps, since a few rows
// give no estimate of a gap.
[[nodiscard]] SolveResult solve_adam(const Head& head, const Vector& theta0,
                                     const Rows& rows, std::span<const PairSet> pairs,
                                     const SolveOptions& options,
                                     const SolveAdamOptions& adam,
                                     const PairsOfEpoch& redraw, const Exec& exec,
                                     const Vector& start = {});

}  // namespace fmd
