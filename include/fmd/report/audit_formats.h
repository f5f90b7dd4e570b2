#pragma once

#include <string>

#include "fmd/report/audit_report.h"

namespace fmd {

// One line per figure: attribute, group, measure, value, low, high, rows, reason.
[[nodiscard]] std::string csv(const AuditReport& report);
// Tables fit for a pull request.
[[nodiscard]] std::string markdown(const AuditReport& report);
// One test case per limit. A failed one has the figures; one without enough evidence is
// skipped.
[[nodiscard]] std::string junit(const AuditReport& report);

}  // namespace fmd
