#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/metrics/interval.h"

namespace fmd {

// One figure of an audit that another audit may have too.
struct AuditFigure {
  std::string attribute;            // empty: of all rows
  std::string measure;              // "co", "demographic_parity", "accuracy", ...
  std::string first, second, rate;  // what it is about; empty where there is but one
  Interval interval;
  Index comparisons = 1;  // that its interval is adjusted for

  [[nodiscard]] std::string about() const;  // "Male - Female, tpr"
};

// What is kept of an audit.json.
struct EarlierAudit {
  std::string file;
  std::string model, model_sha256, data, data_sha256;  // empty where not known
  Index rows = 0;
  double confidence = 0.95;
  std::vector<AuditFigure> figures;
};

// Reads what `fmd audit -o` wrote, whatever its measures are called. Throws
// Error(bad_model) for a file that is none or is damaged, Error(unsupported) for a schema
// that is not known.
[[nodiscard]] EarlierAudit parse_audit(std::string_view text, const std::string& source);
[[nodiscard]] EarlierAudit read_audit(const std::filesystem::path& path);

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

struct BaselineReport {
  EarlierAudit earlier;    // without figures
  bool same_data = false;  // by checksum
  bool paired = false;     // both models scored these rows
  std::vector<FigureChange> changes;
  std::vector<std::string> gone, fresh;  // figures that only one of the audits has

  [[nodiscard]] Index count(Direction direction) const;
};

// Every figure that both have. Intervals of changes come from the two figures' own ones, as
// if the rows were others (square-and-add), all widened so that they hold together. Where
// the rows are the same this is too wide: see pipeline/baseline.h.
[[nodiscard]] BaselineReport compare_audits(const EarlierAudit& before,
                                            const EarlierAudit& after);

// Sets the change and its direction. `plain` is after - before as it is signed, at
// `confidence`; it is widened for `figures` figures.
void set_paired_change(const Interval& plain, double confidence, Index figures,
                       FigureChange& change);

}  // namespace fmd
