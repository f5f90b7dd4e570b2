#pragma once

#include "fmd/data/table_stream.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/study_stream.h"

namespace fmd {

// Whether the task can be audited block by block. Given and matched pairs cannot: they join
// rows that may be anywhere in the file.
[[nodiscard]] bool streams(const Task& task);

// audit_model() of any number of rows, in constant memory. The figures are the same to the
// bit, except the intervals of means and flip gaps of more than 200,000 rows (see Tally).
[[nodiscard]] AuditReport audit_stream(const Model& model, StudyStream& stream,
                                       const AuditOptions& options, const Exec& exec);

}  // namespace fmd
