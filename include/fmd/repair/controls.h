#pragma once

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head_problem.h"

namespace fmd {

// The controls: edits that every repair is compared with. debias, compare and reproduce
// take them from here. The head without any change is one of them too, and the model that
// is retrained without the column, which only its caller can train.

// All logits divided by the T of lowest log loss on the part's rows.
struct Tempered {
  double temperature = 1;
  Vector theta;
};
[[nodiscard]] Tempered tempered(const HeadProblem& problem, const HeadPart& part,
                                const Exec& exec);

// The intercept shifted so that the share `rate` of the part's rows is answered favourably.
// The head must have an intercept, and a favourable class must be named. Throws what
// shift_to_rate() throws.
[[nodiscard]] Vector shifted(const HeadProblem& problem, const Vector& theta,
                             const HeadPart& part, double rate, const Exec& exec);
// The share of the part's rows that theta answers favourably, or whose label is favourable.
[[nodiscard]] double favorable_rate(const HeadProblem& problem, const Vector& theta,
                                    const HeadPart& part, const Exec& exec);
[[nodiscard]] double favorable_labels(const HeadProblem& problem, const HeadPart& part);

// The attribute's features replaced by their means over the edit rows. The problem must
// know these features.
[[nodiscard]] Vector column_averaged(const HeadProblem& problem, const Exec& exec);

// Labels on the edit pairs and nothing else: what plain fine-tuning of the same layers
// gives.
[[nodiscard]] Vector fine_tuned(const HeadProblem& problem, const Exec& exec);

// A linear head trained again on the training rows, to the same l2, with the attribute's
// features 0 in all rows, so that the ridge leaves their weights at 0.
[[nodiscard]] Vector retrained_without(const HeadProblem& problem, const Exec& exec);

}  // namespace fmd
