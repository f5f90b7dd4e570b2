#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/data/task.h"
#include "fmd/metrics/counterfactual.h"
#include "fmd/metrics/group.h"
#include "fmd/metrics/individual.h"
#include "fmd/metrics/interval.h"
#include "fmd/report/baseline.h"
#include "fmd/report/match_report.h"

namespace fmd {

// Does the model read the attribute? unknown: only its scores were given.
enum class Reads { no, yes, unknown };

// How the answer moves with a number that the model reads, per row |dp/da|; of more than
// two classes half the sum over them. Means over the rows that have the number.
struct SlopeReport {
  Index rows = 0;
  double deviation = kUndefined;        // of the number in the training rows
  Interval per_unit, per_deviation;     // mean |dp/da|, and times the deviation
  double signed_per_unit = kUndefined;  // mean dp/da of the favourable class
};

// Clarify's flip test: of the rows of a group, the share that is answered unfavourably
// while most of its k nearest rows of the reference group are answered favourably, minus
// the share of which the reverse is true.
struct FlipTest {
  std::string group, reference;
  Index rows = 0;
  Interval value;
};

// Answers of near rows.
struct NeighbourReport {
  Index k = 0;
  Interval consistency;  // 1 - mean share of the k nearest rows that are answered otherwise
};

struct AttributeAudit {
  std::string name;
  std::vector<std::string> values;
  std::vector<double> cuts;  // ranges of a number begin here; empty = values as they are
  Reads reads = Reads::unknown;
  std::optional<FlipReport> flip;  // none: see flip_reason
  std::string flip_reason;         // "not_an_input" | "no_pairs" | "ranges_of_a_number"
  std::string pairs = "flip";      // "flip" | "given"
  std::optional<Distortion> distortion;  // given pairs alone
  std::optional<SlopeReport> slope;      // ranges of a number alone; none: see slope_reason
  std::string slope_reason;  // "not_an_input" | "no_model" | "read_as_categories"
  GroupReport groups;
  std::optional<MatchReport> match;  // none: not asked for
  std::vector<FlipTest> flip_test;   // with neighbours: each large group but the reference
};

// One line of a limit: an interval and whom it is about.
struct LimitLine {
  std::string about;  // group, or pair of values; empty when there is but one
  Interval interval;
  Verdict verdict = Verdict::none;
};

struct LimitResult {
  Limit limit;  // with its attribute filled in
  std::vector<LimitLine> lines;
  Verdict verdict = Verdict::none;
  std::string reason;  // why there are no lines, e.g. "not_an_input"
};

// Everything an audit measured, as plain data.
struct AuditReport {
  std::string model, model_sha256, kind;  // empty for scores of another program
  std::string data, data_sha256;
  Index rows = 0;
  Index seen = -1;            // rows that equal a training row; -1 = not known
  double seen_by_chance = 0;  // how many would, if none was used
  Index missing_numbers = 0;  // cells that counted as the mean
  Task task;
  double confidence = 0.95;
  Index replicates = 0, permutations = 0;
  Bootstrap intervals = Bootstrap::percentile;
  std::uint64_t seed = 0;
  bool weighted = false;  // rows count by the task's weight column
  Interval accuracy;
  double log_loss = kUndefined, calibration_error = kUndefined;
  std::optional<NeighbourReport> neighbours;  // none: not asked for
  std::vector<AttributeAudit> attributes;
  std::vector<GroupReport> intersections;
  std::vector<LimitResult> limits;
  Verdict verdict = Verdict::none;
  std::optional<BaselineReport> baseline;  // what changed since an earlier audit
  std::vector<std::string> shown;  // further rates and measures for the screen, by name
  bool include_rows = false;       // small cells are shown as they are

  [[nodiscard]] const AttributeAudit* find(const std::string& attribute) const;
};

// The measures of one attribute that a limit can name: those of its flips, every group
// measure of its report, selection_ratio and worst_group_accuracy.
[[nodiscard]] std::vector<std::string> limit_measures(const AttributeAudit& audit);

// The names of rates and measures that a list asks for; "all" is all of them. Throws
// Error(bad_option) that lists the names.
[[nodiscard]] std::vector<std::string> metric_names(const std::vector<std::string>& asked);

// Judges one limit, in the sense of its measure (see limit_sense). Flip measures of an
// attribute that the model does not read: unclear
// with reason not_an_input, never a pass.
[[nodiscard]] LimitResult judge_limit(const AttributeAudit& audit, const Limit& limit);
// fail before unclear before pass; none without limits.
[[nodiscard]] Verdict overall(const std::vector<LimitResult>& limits);

// Cells under this many rows are kept out of every report.
inline constexpr Index kMaskedRows = 10;

// The audit as it is given out; screen(), to_json(), csv() and markdown() do this
// themselves. A group under kMaskedRows rows keeps its name alone; a group with so few rows
// of one label keeps what does not tell its labels. Where totals less the others would
// tell what is kept out, and in intersections always, counts beside it are rounded to tens
// and figures to 3 decimals. As it is with include_rows.
[[nodiscard]] AuditReport masked(AuditReport report);

// The audit as JSON text (2 blanks indent). Keys never change meaning; an undefined figure
// is null with a reason beside it.
[[nodiscard]] std::string to_json(const AuditReport& report);
// The audit as a terminal screen, 80 columns, no colour.
[[nodiscard]] std::string screen(const AuditReport& report);

}  // namespace fmd
