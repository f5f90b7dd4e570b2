#pragma once

#include <memory>
#include <string>

#include "core/internal.h"
#include "fmd/metrics/bias_measure.h"

namespace fmd::internal {

enum class SoftRows { all, favorable, unfavorable };  // rows that count, by label

// Differences of groups in the mean score of the favourable class; see make_measure().
[[nodiscard]] std::unique_ptr<BiasMeasure> make_soft(const std::string& name, SoftRows rows,
                                                     const MeasureOptions& options);
// Mean log loss of labelled rows.
[[nodiscard]] std::unique_ptr<BiasMeasure> make_loss();

}  // namespace fmd::internal
