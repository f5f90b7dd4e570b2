#pragma once

#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/pipeline/audit.h"
#include "fmd/report/debias_report.h"

namespace fmd::internal {

// What a repair changed besides its aim: decisions gained and lost, other gaps, weights.
// The study needs labels: the flip gap co of more than two classes is that of the label's
// class. folds: the answers after the repair are cross-fitted.
[[nodiscard]] Moved what_moved(const Model& before, const Model& after, const Study& study,
                               const std::vector<std::string>& repaired,
                               const AuditOptions& options, const Exec& exec,
                               const FoldModels* folds = nullptr);

}  // namespace fmd::internal
