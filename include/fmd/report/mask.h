#pragma once

#include "fmd/core/types.h"

namespace fmd {

struct AuditReport;

// Every report leaves out cells under this many rows: their figures would describe single
// persons. Audits and scans do not compare such cells, unless include_rows is set.
inline constexpr Index kMaskedRows = 10;

// The audit in the form that is given out. sheet_of() and to_json() call this themselves. A
// group under kMaskedRows rows keeps only its name. A group with so few rows of one label
// keeps only figures that do not reveal its labels. Counts beside a hidden figure are
// rounded to tens, and figures to 3 decimals. In intersections this is always done;
// elsewhere only where the totals minus the other groups would reveal the hidden figure.
// With include_rows nothing is masked.
//
// Reports are masked where they are written, not where they are measured: limits are
// judged on the true figures. No second group is hidden to protect the first one. A large
// group would lose its figures because of a small one, and rounding hides as much.
[[nodiscard]] AuditReport masked(AuditReport report);

}  // namespace fmd
