#pragma once

#include "fmd/report/audit_report.h"
#include "report/json.h"

namespace fmd {

// Rows, accuracy and all attributes' figures of an audit: the part that receipts hold too.
[[nodiscard]] Json figures_json(const AuditReport& report);

}  // namespace fmd
