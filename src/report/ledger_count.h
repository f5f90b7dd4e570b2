#pragma once

#include "fmd/report/ledger_count.h"
#include "report/json.h"

namespace fmd::internal {

[[nodiscard]] Json ledger_json(const LedgerCount& count);

}  // namespace fmd::internal
