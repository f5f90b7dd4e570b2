#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/data/row_twins.h"
#include "fmd/metrics/tally.h"
#include "fmd/report/audit_report.h"

namespace fmd::internal {

// What an audit knows about its rows and its model beyond the figures.
struct WarningFacts {
  const Tally& tally;
  const RowTwins& rows;
  double training_twins = 0;  // share of the training rows that equal another one
  Index trained_on = 0;       // number of training rows; 0 = not known
  double model_threshold = kUndefined;
};

// Sets report.warnings, and report.verdict where a warning keeps it from passing.
void add_warnings(const WarningFacts& facts, const std::vector<std::string>& allow,
                  AuditReport& report);

// Throws Error(bad_option) for a name that no warning has.
void require_warnings(const std::vector<std::string>& names);

}  // namespace fmd::internal
