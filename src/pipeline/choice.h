#pragma once

#include <string>
#include <vector>

#include "pipeline/candidates.h"

namespace fmd::internal {

// Accuracy and bias of every candidate on the hold-out, paired with the original. These
// figures serve the choice. The report's figures come from test rows where these are
// given; otherwise the report says that its rows were also used for the choice.
void measure_candidates(const Model& model, const StudyPart& holdout,
                        const DebiasOptions& options, const Exec& exec,
                        std::vector<Candidate>& candidates);

// The rule: position of the chosen candidate, -1 when there is none.
[[nodiscard]] int choose(const std::vector<Candidate>& candidates,
                         const DebiasOptions& options);
[[nodiscard]] std::string rule_in_words(const DebiasOptions& options, bool matched);

}  // namespace fmd::internal
