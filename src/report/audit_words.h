#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/report/audit_report.h"
#include "report/line.h"

// Words and look-ups that several parts of an audit share.
namespace fmd::internal {

[[nodiscard]] std::string no_flip_words(const std::string& reason);
[[nodiscard]] std::string reason_words(const std::string& reason);
[[nodiscard]] std::string limit_words(const LimitResult& limit);  // "co:sex <= .02"
[[nodiscard]] std::string verdict_words(
    const AuditReport& report);  // "FAIL, 2 limits, ..."
[[nodiscard]] std::string warning_words(const AuditWarning& warning);
[[nodiscard]] std::string shout(Verdict verdict);

// Whether the screen shows a figure: the usual ones, and others that were asked for.
[[nodiscard]] bool is_shown(const AuditReport& report, const AuditFigure& figure);
// What the intervals of changes come from.
[[nodiscard]] std::string pairing_words(const AuditChanges& changes);
[[nodiscard]] std::string measure_words(const AuditFigure& figure);  // "co:sex"

// Whom a figure is about: "White -> Black" of flips, "Male - Female, tpr" of groups.
[[nodiscard]] std::string flip_words(const std::vector<std::string>& values, int from,
                                     int to);
[[nodiscard]] std::string between(const GroupReport& groups, const GroupMeasure& measure,
                                  const Comparison& comparison);
// The same in the order of the measure's formula: "Other / Asian" of a ratio.
[[nodiscard]] std::string pair_words(const GroupReport& groups, const GroupMeasure& measure,
                                     const Comparison& pair);
// The reference against the largest other group: the pair of values that screens show.
[[nodiscard]] std::pair<int, int> shown_values(const AttributeAudit& audit);
[[nodiscard]] const FlipCell* find_cell(const FlipReport& flip, int from, int to);
// The comparison of a measure with a group; null = none. rate: "" = any.
[[nodiscard]] const Comparison* against(const GroupReport& groups, const char* measure,
                                        int group, const std::string& rate = "");
// co, or co_tv where there are no labels.
[[nodiscard]] const Interval& flip_gap(const FlipReport& flip);

// Rows that are not flipped, of all `rows`: no value, or one that training has not seen. 0
// for given pairs.
[[nodiscard]] Index rows_left_out(const AttributeAudit& audit, Index rows);
// "25", "<10"; "" where all are flipped.
[[nodiscard]] std::string left_out_words(const AttributeAudit& audit, Index rows);

// "0.110 [.108, .111]"; "-" where it is undefined.
[[nodiscard]] SheetCell measured(const Interval& interval);

// How hidden counts are written. mask_words: "" where nothing is hidden.
[[nodiscard]] std::string few_rows();
[[nodiscard]] std::string count(Index n, bool masked);
[[nodiscard]] bool has_masked(const GroupReport& groups);
[[nodiscard]] std::string mask_words(const GroupReport& groups);

// The columns of flips and of matched pairs.
[[nodiscard]] const SheetColumns& flip_columns();

}  // namespace fmd::internal
