#pragma once

#include "fmd/core/types.h"

namespace fmd {

struct AuditReport;

// Every report leaves out cells under this many rows: their figures are figures of persons.
inline constexpr Index kMaskedRows = 10;

// The audit in the form that is given out. screen(), to_json(), csv() and markdown() call
// this themselves. A group under kMaskedRows rows keeps only its name. A group with so few
// rows of one label keeps only figures that do not tell its labels. Where the totals minus
// the other groups would tell a hidden figure, and in intersections always, counts beside
// it are rounded to tens and figures to 3 decimals. With include_rows nothing is masked.
[[nodiscard]] AuditReport masked(AuditReport report);

}  // namespace fmd
