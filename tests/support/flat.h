#pragma once

#include "fmd/core/types.h"

namespace fmd::test {

// The entries of a matrix, row after row.
inline Vector flat(const Matrix& m) { return Eigen::Map<const Vector>(m.data(), m.size()); }

}  // namespace fmd::test
