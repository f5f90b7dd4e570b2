#pragma once

#include "fmd/report/audit_report.h"
#include "report/json.h"

namespace fmd::internal {

// Rows, accuracy and all attributes' figures of an audit. Receipts hold this part too.
// everything: also the rates and measures by name. Receipts leave those out: they hold
// only figures that all releases have.
[[nodiscard]] Json figures_json(const AuditReport& report, bool everything = false);

}  // namespace fmd::internal
