#pragma once

#include "fmd/report/audit_report.h"
#include "report/json.h"

namespace fmd::internal {

// What changed since a previous audit: a section of the audit's screen, a part of its page,
// and block `baseline` of its JSON. Nothing is added where there is nothing to compare
// with.
void add_changes(const AuditReport& report, Sheet& sheet);
void add_changes_to_page(const AuditReport& report, SheetSection& page);
[[nodiscard]] Json changes_json(const AuditChanges& changes);

}  // namespace fmd::internal
