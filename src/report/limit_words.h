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
// A figure that the screen shows: the usual ones, and further ones that were asked for.
[[nodiscard]] bool is_shown(const AuditReport& report, const AuditFigure& figure);
// How the intervals of changes were made.
[[nodiscard]] std::string pairing_words(const AuditChanges& changes);

}  // namespace fmd::internal
