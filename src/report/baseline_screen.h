#pragma once

#include <string>

#include "fmd/report/audit_report.h"
#include "report/json.h"

namespace fmd {

// The part of the screen on what changed; empty when there is nothing to compare with.
[[nodiscard]] std::string baseline_part(const AuditReport& report);
[[nodiscard]] Json baseline_json(const BaselineReport& baseline);

}  // namespace fmd
