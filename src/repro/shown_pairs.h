#pragma once

#include "repro/experiment.h"

namespace fmd::repro {

// Nothing is measured: ten test digits in two colours, two rows of Adult and three
// sentences of CrowS-Pairs with their pairs, as pictures.
[[nodiscard]] UnitResult run_shown_pairs(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
