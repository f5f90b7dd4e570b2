#pragma once

#include <memory>

#include "fmd/curvature/inverse_hessian.h"

namespace fmd {

// make_inverse_hessian for any head, by products with J and J^T alone.
[[nodiscard]] std::unique_ptr<InverseHessian> make_layered_inverse(
    const Head& head, const Rows& rows, const Vector& theta,
    const CurvatureOptions& options, const Exec& exec);

}  // namespace fmd
