#pragma once

#include <functional>
#include <span>

#include "fmd/unlearn/solve.h"

namespace fmd {

// J of solve.h by Adam over minibatches, for heads with hidden layers and many pairs, or
// pairs that are drawn anew in each epoch.

struct SolveAdamOptions {
  int epochs = 80;              // >= 1
  Index batch = 256;            // pairs in one step, and as many rows; >= 1
  double learning_rate = 1e-3;  // > 0; falls to 0 along a cosine over the epochs
};

// Pairs of an epoch (epoch = 1, 2, ...), valid until the next call. As many sets as were
// given at first; their sizes may differ.
using PairsOfEpoch = std::function<std::span<const PairSet>(int epoch)>;

// A step takes `batch` pairs, from each set its share, and as many rows for the anchor,
// both in an order of their own for each epoch, and lowers the estimate of J that they
// give. redraw null = the given pairs in each epoch. The result is the last epoch's, unless
// it left the finite numbers: then the last finite one, status stopped. summary: iterations
// are epochs; objective and gradient are J's on the given pairs. Gradients are sums of
// fixed pieces: same seed, same bits, for any number of threads. Reports progress as
// "solve". Throws what solve throws, and Error(unsupported) for gaps, which have no
// estimate from a few rows.
[[nodiscard]] SolveResult solve_adam(const Head& head, const Vector& theta0,
                                        const Rows& rows, std::span<const PairSet> pairs,
                                        const SolveOptions& options,
                                        const SolveAdamOptions& adam,
                                        const PairsOfEpoch& redraw, const Exec& exec,
                                        const Vector& start = {});

}  // namespace fmd
