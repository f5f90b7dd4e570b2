#pragma once

#include <cstddef>
#include <vector>

#include "core/internal.h"
#include "repro/spec.h"

namespace fmd::internal {

// repro/<name>.toml, built in so that the command finds them wherever it runs.
extern const unsigned char kReproToy[], kReproTable1[], kReproTable1_trained[],
    kReproTable2[], kReproTable2_trained[], kReproTable3[], kReproTable3_trained[],
    kReproTable4[], kReproTable5[], kReproTable6[], kReproTable7[], kReproTable8[],
    kReproSamples[], kReproHessian[], kReproPairs[], kReproOverview[];
extern const std::size_t kReproToySize, kReproTable1Size, kReproTable1_trainedSize,
    kReproTable2Size, kReproTable2_trainedSize, kReproTable3Size, kReproTable3_trainedSize,
    kReproTable4Size, kReproTable5Size, kReproTable6Size, kReproTable7Size,
    kReproTable8Size, kReproSamplesSize, kReproHessianSize, kReproPairsSize,
    kReproOverviewSize;

}  // namespace fmd::internal

namespace fmd::repro {

// All of them, in the paper's order, the toy first.
[[nodiscard]] const std::vector<Spec>& specs();

}  // namespace fmd::repro
