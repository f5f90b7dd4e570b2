#pragma once

#include "report/audit_json.h"

namespace fmd::internal {

// The measures that receipts hold, of one contender on one set of rows: an audit's figures
// without single flips, groups of fewer than ten rows masked.
[[nodiscard]] Json measures_json(const AuditReport& audit);

}  // namespace fmd::internal
