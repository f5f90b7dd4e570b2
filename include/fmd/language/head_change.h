#pragma once

#include <span>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/language/language_model.h"
#include "fmd/language/prefix_states.h"

namespace fmd {

// The edited head: W (I + M) in place of W, that is the state (I + M) h in place of h. Then
// shift is added to the state. Sizes 0 stand for no change.
struct HeadChange {
  Matrix M;      // d x d, or 0 x 0
  Vector shift;  // d entries, or none
};

// What the head says for each state.
struct HeadOutputs {
  Vector log_sum;    // log sum_w exp(logit_w)
  FloatMatrix mean;  // mu = W' p, one row per state; empty unless it was asked for
};

// The states (I + M) h + shift, in float. Throws Error(bad_shape).
[[nodiscard]] FloatMatrix changed_states(const FloatMatrix& states,
                                         const HeadChange& change);

// The new head W (I + M), and bias + W shift. A head without a bias gets one only where the
// shift is not empty. Throws Error(bad_shape).
[[nodiscard]] VocabularyHead changed_head(const VocabularyHead& head,
                                          const HeadChange& change, const Exec& exec);

// Cost: rows x vocabulary x d products, twice that with the mean. Memory: a few MB a
// thread. The same bits for any number of threads. Throws Error(bad_shape).
[[nodiscard]] HeadOutputs head_outputs(const VocabularyHead& head,
                                       const FloatMatrix& states, bool with_mean,
                                       const Exec& exec);

// Mean log probability of the tokens of each sequence. outputs: of these states. Throws
// Error(bad_data) for a sequence without a token, Error(bad_shape) for a state or token
// that does not exist.
[[nodiscard]] Vector mean_log_probabilities(const VocabularyHead& head,
                                            const FloatMatrix& states,
                                            const HeadOutputs& outputs,
                                            std::span<const ScoredSequence> sequences);

}  // namespace fmd
