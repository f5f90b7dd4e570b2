#pragma once

#include "repro/experiment.h"

namespace fmd::repro {

// Colored MNIST, Eq. 9 in parts: one step for each part of the pairs. The setting "inverse"
// says whether all steps use the inverse Hessian of the start, or ("refreshed") a new one
// before each part.
[[nodiscard]] UnitResult run_hessian(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
