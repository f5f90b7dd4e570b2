#pragma once

#include <string>

#include "core/internal.h"
#include "fmd/report/audit_report.h"

namespace fmd::internal {

// The rates and measures that were asked for by name; empty when none was.
[[nodiscard]] std::string measures_part(const AuditReport& report);

}  // namespace fmd::internal
