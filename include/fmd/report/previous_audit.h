#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/metrics/interval.h"

// A previous audit, and what changed since then.
namespace fmd {

// One figure of an audit that another audit may have too.
struct AuditFigure {
  std::string attribute;            // empty: of all rows
  std::string measure;              // "co", "demographic_parity", "accuracy", ...
  std::string first, second, rate;  // what it is about; empty where there is only one
  Interval interval;
  Index comparisons = 1;  // that its interval is adjusted for

  [[nodiscard]] std::string about() const;  // "Male - Female, tpr"
  [[nodiscard]] std::string name() const;   // "equal_opportunity:sex Male - Female"
};

// What is kept of an audit.json.
struct PreviousAudit {
  std::string file;
  std::string model, model_sha256, data, data_sha256;  // empty where not known
  Index rows = 0;
  double confidence = 0.95;
  std::vector<AuditFigure> figures;
};

// Reads what `fmd audit -o` wrote, with any names of measures. Throws Error(bad_model) for
// a file that is not an audit or is damaged, Error(unsupported) for an unknown schema.
[[nodiscard]] PreviousAudit parse_audit(std::string_view text, const std::string& source);
[[nodiscard]] PreviousAudit read_audit(const std::filesystem::path& path);

// Larger is better: accuracies and ratios. All others are gaps, best at 0.
[[nodiscard]] bool is_floor(const std::string& measure);

enum class Direction { unclear, worse, better };

struct FigureChange {
  AuditFigure before, after;
  Interval change;  // of the size: |after| - |before|, and after - before where larger is
                    // better; adjusted for the number of figures
  bool paired = false;
  Direction direction = Direction::unclear;  // beyond the interval
};

// What changed from the previous audit to this one.
struct AuditChanges {
  PreviousAudit previous;  // without figures
  bool same_data = false;  // by checksum
  bool paired = false;     // both models scored these rows
  std::vector<FigureChange> changes;
  std::vector<std::string> gone, fresh;  // figures that only one of the audits has

  [[nodiscard]] Index count(Direction direction) const;
};

// Every figure that both have. The interval of a change comes from the two figures' own
// intervals, as if the rows were different ones (square-and-add). All are widened so that
// they hold together. Where the rows are the same this is too wide: see
// pipeline/previous_model.h.
[[nodiscard]] AuditChanges compare_audits(const PreviousAudit& before,
                                          const PreviousAudit& after);

// Sets the change and its direction. `plain` is after - before with its sign, at
// `confidence`. It is widened for `figures` figures.
void set_paired_change(const Interval& plain, double confidence, Index figures,
                       FigureChange& change);

}  // namespace fmd
