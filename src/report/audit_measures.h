#pragma once

#include "fmd/report/audit_report.h"

namespace fmd::internal {

// The rates and measures that were asked for by name, as sections of the audit's screen.
void add_measures(const AuditReport& report, Sheet& sheet);

}  // namespace fmd::internal
