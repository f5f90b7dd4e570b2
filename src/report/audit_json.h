#pragma once

#include "fmd/report/audit_report.h"
#include "report/json.h"

namespace fmd::internal {

// Rows, accuracy and all attributes' figures of an audit: the part that receipts hold too.
// everything: rates and measures by the names of metrics/confusion.h and its neighbours
// too. Receipts hold the figures that all releases have.
[[nodiscard]] Json figures_json(const AuditReport& report, bool everything = false);

}  // namespace fmd::internal
