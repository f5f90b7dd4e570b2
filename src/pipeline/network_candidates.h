#pragma once

#include "pipeline/candidates.h"

namespace fmd::internal {

// The trade-off of a head with hidden layers: by continuation over a grid of lambdas. Each
// solve starts from the result of the one before.
[[nodiscard]] Candidates network_candidates(const CandidateInput& input,
                                            const DebiasOptions& options, const Exec& exec);

// Labels on the pairs and nothing else: what plain fine-tuning of the same layers gives.
[[nodiscard]] Vector fine_tuned(const Model& model, const StudyPart& edit,
                                const Exec& exec);

}  // namespace fmd::internal
