#pragma once

#include <string>

#include "fmd/report/audit_report.h"
#include "report/json.h"

namespace fmd::internal {

// What changed since a previous audit: part of the audit's screen (empty where there is
// nothing to compare with), and block `baseline` of its JSON.
[[nodiscard]] std::string changes_part(const AuditReport& report);
[[nodiscard]] Json changes_json(const AuditChanges& changes);

}  // namespace fmd::internal
