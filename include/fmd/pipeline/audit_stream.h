#pragma once

#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/study_stream.h"

namespace fmd {

// Whether the task can be audited block by block: given and matched pairs join rows that
// may stand anywhere, and the slopes of numbers that the model reads are resampled by row.
[[nodiscard]] bool streams(const Model& model, const Task& task);

// audit_model() of rows of any number, in constant memory; the same figures to the bit, but
// for the intervals of means and flip gaps of more than 200,000 rows (see Tally).
[[nodiscard]] AuditReport audit_stream(const Model& model, StudyStream& stream,
                                       const AuditOptions& options, const Exec& exec);

}  // namespace fmd
