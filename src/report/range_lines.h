#pragma once

#include <string>

#include "core/internal.h"
#include "fmd/report/audit_report.h"

// Lines of the screen for attributes that are ranges of a number; empty for others.
namespace fmd::internal {

[[nodiscard]] std::string slope_lines(const AttributeAudit& a);
// The exact numbers at which the ranges begin.
[[nodiscard]] std::string cuts_line(const AttributeAudit& a);

}  // namespace fmd::internal
