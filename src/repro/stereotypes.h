#pragma once

#include "repro/experiment.h"

namespace fmd::repro {

// Stereotype scores of a language model before and after edits of its head, beside the
// rivals. A case with `printed` has the paper's rows alone.
[[nodiscard]] UnitResult run_stereotypes(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
