#pragma once

#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// all_probabilities() of each theta, bit for bit. Sparse rows of a head with one output are
// read once for all of them.
[[nodiscard]] std::vector<Matrix> probabilities_of_each(
    const Head& head, const Rows& rows, std::span<const Vector* const> thetas,
    const Exec& exec);

}  // namespace fmd::internal
