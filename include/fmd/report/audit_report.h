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
#include "fmd/report/audit_warning.h"
#include "fmd/report/ledger_count.h"
#include "fmd/report/limits.h"
#include "fmd/report/mask.h"
#include "fmd/report/match_report.h"
#include "fmd/report/previous_audit.h"
#include "fmd/report/refit_report.h"
#include "fmd/report/sheet.h"

namespace fmd {

// Does the model read the attribute? unknown: only its scores are given.
enum class Reads { no, yes, unknown };

// How the answer moves with a number that the model reads: |dp/da| per row, or half the sum
// over the classes where there are more than two. Means over the rows that have the number.
struct SlopeReport {
  Index rows = 0;
  double deviation = kUndefined;        // of the number in the training rows
  Interval per_unit, per_deviation;     // mean |dp/da|, and times the deviation
  double signed_per_unit = kUndefined;  // mean dp/da of the favourable class
};

// Clarify's flip test. Counted among the rows of a group: the share with an unfavourable
// answer while most of the k nearest rows of the reference group have a favourable one,
// minus the share for which the reverse is true.
struct FlipTest {
  std::string group, reference;
  Index rows = 0;
  Interval value;
};

// Answers of near rows.
struct NeighbourReport {
  Index k = 0;
  Interval consistency;  // 1 - mean share of the k nearest rows with another answer
};

struct AttributeAudit {
  std::string name;
  std::vector<std::string> values;
  std::vector<double> cuts;  // ranges of a number begin here; empty = values as they are
  // Columns that determine it: set with it in flips, or left as they are. While one is
  // left, no limit on flips passes.
  std::vector<std::string> mirrors = {}, mirrors_left = {};
  Reads reads = Reads::unknown;
  std::optional<FlipReport> flip;  // none: see flip_reason
  bool few_left_out = false;       // fewer than kMaskedRows rows are not flipped: masked
  std::string flip_reason;         // "not_an_input" | "no_pairs" | "ranges_of_a_number"
  PairKind pairs = PairKind::flip;
  std::optional<Distortion> distortion;  // only for given pairs
  std::optional<SlopeReport> slope;  // only for ranges of a number; none: see slope_reason
  std::string slope_reason;          // "not_an_input" | "no_model" | "read_as_categories"
  GroupReport groups;
  std::optional<MatchReport> match;  // none: not asked for
  std::vector<FlipTest>
      flip_test;  // with neighbours: each large group except the reference
};

// Everything an audit measured, as plain data.
struct AuditReport {
  std::string model, model_sha256, kind;  // empty for scores of another program
  std::string data, data_sha256;
  Index rows = 0;
  Index seen = -1;                      // rows that equal a training row; -1 = not known
  double seen_by_chance = 0;            // expected number if none was used
  Index missing_numbers = 0;            // cells without a number: they count as the mean
  std::vector<std::string> notes = {};  // what was left out, counted or taken for something
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
  std::vector<AuditWarning> warnings = {};
  // Of the limits; a warning that is not allowed turns a pass into unclear.
  Verdict verdict = Verdict::none;
  std::optional<AuditChanges> since_previous;  // what changed since a previous audit
  std::vector<std::string> shown;  // further rates and measures for the screen, by name
  bool include_rows = false;       // small cells are not masked
  Index round = 0;  // counts are shown as multiples of this, figures rounded; 0 = exact
  std::optional<LedgerCount> ledger = {};  // none: no ledger was named
  std::optional<RefitReport> refits = {};  // none: not asked for

  [[nodiscard]] const AttributeAudit* find(const std::string& attribute) const;  // or null
};

// The names of rates and measures that a list asks for. "all" means all of them. Throws
// Error(bad_option) that lists the names.
[[nodiscard]] std::vector<std::string> metric_names(const std::vector<std::string>& asked);

// The audit as JSON text (2 blanks indent). Keys never change meaning; an undefined figure
// is null with a reason beside it.
[[nodiscard]] std::string to_json(const AuditReport& report);
// The audit, masked, as it is shown: its sections, every figure, and a case per limit.
[[nodiscard]] Sheet sheet_of(const AuditReport& report);
// Accuracy, flip gap and selection rates of one attribute with two values, in the form that
// the demo shows. Throws Error(bad_option) for an attribute that was not audited or has no
// flip test.
[[nodiscard]] SheetSection audit_table(const AuditReport& report,
                                       const std::string& attribute);

}  // namespace fmd
