#pragma once

#include "fmd/report/audit_report.h"
#include "report/json.h"

namespace fmd {

// Adds co_match, co_match_floor, co_match_excess to the measures and `match` to the
// attribute; flip_test where it was measured. Nothing where nothing was asked for.
void match_json(const AttributeAudit& audit, Json& attribute, Json& measures);

}  // namespace fmd
