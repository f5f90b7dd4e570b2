#pragma once

#include "core/internal.h"
#include "fmd/report/audit_report.h"

// What an audit, masked already, shows outside of a screen.
namespace fmd::internal {

void add_page(const AuditReport& report, Sheet& sheet);     // for Markdown
void add_figures(const AuditReport& report, Sheet& sheet);  // for CSV
void add_cases(const AuditReport& report, Sheet& sheet);    // for JUnit

}  // namespace fmd::internal
