#pragma once

#include "repro/experiment.h"

namespace fmd::repro {

// Colored MNIST with more and more external digits: every row of the spec is run with each
// number of D_ex digits in the setting "sizes". The id of a result is "row@digits".
[[nodiscard]] UnitResult run_samples(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
