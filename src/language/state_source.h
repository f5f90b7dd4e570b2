#pragma once

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/language/language_model.h"

namespace fmd::internal {

// What turns tokens into states: one of two.
class StateSource {
 public:
  virtual ~StateSource() = default;
  // The plan's tokens and lengths have been checked.
  [[nodiscard]] virtual FloatMatrix states(const StatePlan& plan,
                                           const Exec& exec) const = 0;
};

}  // namespace fmd::internal
