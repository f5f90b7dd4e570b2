#pragma once

#include <span>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Rows of a matrix and entries of a vector as spans.
[[nodiscard]] inline std::span<const double> row_of(const Matrix& m, Index i) {
  return {m.data() + i * m.cols(), static_cast<std::size_t>(m.cols())};
}
[[nodiscard]] inline std::span<double> row_of(Matrix& m, Index i) {
  return {m.data() + i * m.cols(), static_cast<std::size_t>(m.cols())};
}
[[nodiscard]] inline std::span<double> all_of(Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

}  // namespace fmd::internal
