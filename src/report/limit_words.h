#pragma once

#include <string>

#include "core/internal.h"
#include "fmd/report/audit_report.h"

// Sentences that several forms of an audit share.
namespace fmd::internal {

[[nodiscard]] std::string no_flip_words(const std::string& reason);
[[nodiscard]] std::string reason_words(const std::string& reason);
[[nodiscard]] std::string limit_words(const LimitResult& limit);  // "co:sex <= .02"
[[nodiscard]] std::string verdict_words(
    const AuditReport& report);  // "FAIL, 2 limits, ..."
[[nodiscard]] std::string shout(Verdict verdict);
// Whether the screen shows a figure: the usual ones, and others that were asked for.
[[nodiscard]] bool is_shown(const AuditReport& report, const AuditFigure& figure);
// What the intervals of changes come from.
[[nodiscard]] std::string pairing_words(const AuditChanges& changes);

}  // namespace fmd::internal
