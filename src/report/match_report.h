#pragma once

#include "fmd/report/audit_report.h"
#include "report/json.h"

namespace fmd::internal {

// Adds co_match, co_match_floor and co_match_excess to the measures, and `match` to the
// attribute; flip_test where it was measured. Adds nothing where nothing was asked for.
void match_json(const AttributeAudit& audit, Json& attribute, Json& measures);

// MATCHED PAIRS and NEIGHBOURS of the audit's screen, where they were asked for.
void add_matches(const AuditReport& report, Sheet& sheet);

}  // namespace fmd::internal
