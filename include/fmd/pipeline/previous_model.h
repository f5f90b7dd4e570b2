#pragma once

#include "fmd/pipeline/audit.h"

namespace fmd {

// What changed from a previous model to this one, on the same rows. The previous model is
// audited on these rows. Where a figure can be paired by row (flip gaps, differences of
// rates, accuracy), its change has the interval of the pairs. The previous model decides by
// its own threshold; attributes and labels are those of `now`. Throws what scoring throws
// and Error(wrong_model) for a model of other classes.
[[nodiscard]] AuditChanges compare_models(
    Model previous, const Model& now, const Study& study,
    const std::vector<std::optional<StudyPairs>>& pairs, const AuditReport& report,
    const AuditOptions& options, const Exec& exec);

}  // namespace fmd
