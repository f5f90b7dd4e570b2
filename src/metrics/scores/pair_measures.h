#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/metrics/bias_measure.h"

namespace fmd::internal {

// Mean over pairs of a gap between p = p(c) and q = p(cbar); see make_measure().
[[nodiscard]] std::unique_ptr<BiasMeasure> make_co();           // |p_y - q_y|
[[nodiscard]] std::unique_ptr<BiasMeasure> make_co_tv();        // 1/2 sum_k |p_k - q_k|
[[nodiscard]] std::unique_ptr<BiasMeasure> make_consistency();  // sum_k (p_k - q_k)^2

}  // namespace fmd::internal
