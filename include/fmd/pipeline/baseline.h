#pragma once

#include "fmd/pipeline/audit.h"

namespace fmd {

// What changed from an earlier model to this one on the same rows: the earlier one is
// audited on them, and where a figure can be paired by row (flip gaps, differences of
// rates, accuracy) its change has the interval of the pairs. `earlier.task` names what it
// decides by; attributes and labels are those of `now`. Throws what scoring throws and
// Error(wrong_model) for a model of other classes.
[[nodiscard]] BaselineReport compare_models(
    Model earlier, const Model& now, const Study& study,
    const std::vector<std::optional<StudyPairs>>& pairs, const AuditReport& report,
    const AuditOptions& options, const Exec& exec);

}  // namespace fmd
