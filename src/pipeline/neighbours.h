#pragma once

#include "core/internal.h"
#include "fmd/pipeline/audit.h"

namespace fmd::internal {

// Consistency and flip tests by the k nearest rows, in the model's features without
// scaling.
void add_neighbours(const Study& study, const Scored& scored, const AuditOptions& options,
                    const Exec& exec, AuditReport& report);

}  // namespace fmd::internal
