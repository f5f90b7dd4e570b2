#pragma once

#include "repro/experiment.h"

namespace fmd::repro {

// Table 3's rivals with one seed: each trains a ResNet-18 from random weights on the
// training faces of the given split. Nothing is chosen; the report faces report.
[[nodiscard]] UnitResult run_faces_trained(World& world, const Unit& unit,
                                           const Exec& exec);

}  // namespace fmd::repro
