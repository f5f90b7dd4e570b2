#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/baselines/baseline.h"

namespace fmd::internal {

using FittedMethod = std::vector<BaselineCandidate>;  // one for each setting

// How each method is fitted to a problem: the settings that are tried, and the answers of
// each. The caller has asked why_not() before.
[[nodiscard]] FittedMethod fit_reweigh(const HeadProblem& problem, const Exec& exec);
[[nodiscard]] FittedMethod fit_influence_reweigh(const HeadProblem& problem,
                                                 const Exec& exec);
[[nodiscard]] FittedMethod fit_dfr_method(const HeadProblem& problem, const Exec& exec);
[[nodiscard]] FittedMethod fit_eqodd(const HeadProblem& problem, const Exec& exec);
[[nodiscard]] FittedMethod fit_ceqodd(const HeadProblem& problem, const Exec& exec);
[[nodiscard]] FittedMethod fit_reject(const HeadProblem& problem, const Exec& exec);
[[nodiscard]] FittedMethod fit_thresholds(const HeadProblem& problem, const Exec& exec);
[[nodiscard]] FittedMethod fit_ppif(const HeadProblem& problem, const Exec& exec);

// Decisions as rows x classes: 1 where the class is decided, otherwise 0.
[[nodiscard]] Matrix one_hot(const std::vector<std::int32_t>& decision, Index classes);

}  // namespace fmd::internal
