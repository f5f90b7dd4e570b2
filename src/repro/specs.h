#pragma once

#include <cstddef>
#include <vector>

#include "repro/spec.h"

namespace fmd {

// repro/<name>.toml, built in so that the command finds them wherever it runs.
extern const unsigned char kReproToy[], kReproTable1[];
extern const std::size_t kReproToySize, kReproTable1Size;

// All of them, in the paper's order, the toy first.
[[nodiscard]] const std::vector<Spec>& specs();

}  // namespace fmd
