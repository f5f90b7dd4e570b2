#pragma once

#include <span>

#include "core/internal.h"
#include "fmd/core/bytes.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// A value and a vector that are summed together, e.g. an objective and its gradient. A
// state for reduce(), see fmd/core/accumulator.h.
struct ValueAndVector {
  double value = 0;
  Vector vector;

  void merge(const ValueAndVector& other) {
    value += other.value;
    vector += other.vector;
  }
  void save(ByteWriter& out) const {
    out.put(value);
    out.put_array(std::span(vector.data(), static_cast<std::size_t>(vector.size())));
  }
  static ValueAndVector load(ByteReader& in) {
    ValueAndVector sum;
    sum.value = in.get<double>();
    const auto values = in.get_array<double>();
    sum.vector = Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
    return sum;
  }
};

[[nodiscard]] inline ValueAndVector empty_sum(Index size) {
  return {0, Vector::Zero(size)};
}

}  // namespace fmd::internal
