#pragma once

#include <string>

#include "fmd/report/audit_report.h"

namespace fmd {

// MATCHED PAIRS and NEIGHBOURS of the audit's screen; empty where none were asked for.
[[nodiscard]] std::string match_part(const AuditReport& report);

}  // namespace fmd
