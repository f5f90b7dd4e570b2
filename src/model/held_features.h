#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/model/features.h"
#include "fmd/model/linear_head.h"

namespace fmd::internal {

// Sparse features without those that are held at theta: what these add to the logits
// becomes part of the offset. place: the column of each feature in the result, ascending;
// -1 = held. The head has one parameter for each feature, as leaves of trees have.
[[nodiscard]] std::unique_ptr<Features> hold_features(const Features& X,
                                                      std::span<const std::int32_t> place,
                                                      const LinearHead& head,
                                                      const Vector& theta,
                                                      const Exec& exec);

}  // namespace fmd::internal
