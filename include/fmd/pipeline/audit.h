#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/metrics/flip_tally.h"
#include "fmd/metrics/tally.h"
#include "fmd/pipeline/match.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/audit_report.h"

namespace fmd {

struct AuditOptions {
  double confidence = 0.95;
  Index replicates = 1000;                      // of every bootstrap
  Bootstrap intervals = Bootstrap::percentile;  // of what is bootstrapped
  Index permutations = 0;                       // of the tests of group gaps; 0 = none
  bool intersections = true;                    // of any two attributes
  bool by_name = true;        // also the rates and measures by name: see docs/metrics.md
  bool weighted = false;      // rows count by the task's weight column
  bool include_rows = false;  // groups and labels under kMaskedRows rows may be compared
  Index neighbours = 0;       // k of consistency and flip test; 0 = not measured: the cost
                              // is rows^2
};

struct AuditedAttribute {
  const Attribute* attribute = nullptr;  // of the same rows as `scored`
  Reads reads = Reads::unknown;
  std::optional<PairScores> pairs;
  std::string pairs_kind = "flip";
  std::optional<SlopeReport> slope;
  std::optional<Distortion> distortion = std::nullopt;
  const MatchPlan* match = nullptr;  // matched pairs, and what they were matched on
  MatchInput matching = {};
};

// The slope of an attribute that is ranges of a number, by the derivative through the
// encoder and the head; none where the model does not read the column as a number. Interval
// by bootstrap of the rows.
[[nodiscard]] std::optional<SlopeReport> measure_slope(const Model& model,
                                                       const Study& study,
                                                       const Attribute& attribute,
                                                       const AuditOptions& options,
                                                       const Exec& exec);

// Tallies of one attribute; its groups are counted in the tally of all rows.
struct TalliedAttribute {
  const Attribute* attribute = nullptr;  // codes are not looked at
  Reads reads = Reads::unknown;
  std::optional<FlipTally> flips;
  std::string pairs_kind = "flip";
  std::optional<SlopeReport> slope;
  std::optional<MatchReport> match;
};

// The plan for these attributes: codes are those of Attribute::group.
[[nodiscard]] TallyPlan audit_plan(const Task& task,
                                   const std::vector<const Attribute*>& attributes,
                                   bool labelled, const AuditOptions& options);

// The audit of rows that were counted, wherever and in however many parts: all that an
// audit says comes from here. Attribute a of the tally's plan is attributes[a].
[[nodiscard]] AuditReport audit_tallies(const Tally& tally, const Task& task,
                                        const std::vector<TalliedAttribute>& attributes,
                                        const AuditOptions& options, const Exec& exec);

// The audit of rows that were scored by whatever model.
[[nodiscard]] AuditReport audit_scores(const Scored& scored, const Task& task,
                                       const std::vector<AuditedAttribute>& attributes,
                                       const AuditOptions& options, const Exec& exec);

// The pairs of every attribute that the model reads, as the task asks for them (flip |
// given:FILE).
[[nodiscard]] std::vector<std::optional<StudyPairs>> make_pairs(const Model& model,
                                                                const Study& study,
                                                                const Task& task,
                                                                std::span<const Index> rows,
                                                                const Exec& exec);

// Scores and pairs of a model on a study, then audit_scores. `pairs` as make_pairs() gives
// them. matches: as make_matches() gives them; made here when null.
[[nodiscard]] AuditReport audit_model(const Model& model, const Study& study,
                                      const std::vector<std::optional<StudyPairs>>& pairs,
                                      const AuditOptions& options, const Exec& exec,
                                      const MatchPlans* matches = nullptr);

// Probabilities, answers and labels of rows that another program scored, as audit_files()
// reads them.
[[nodiscard]] Scored read_scores(const Table& scores, const Task& task);

// Scores made by another program. `scores` has a column p (or score) of the positive class,
// or p_<class> for each class, and the columns of label and attributes; `pairs`, when not
// null, was made by `fmd pairs` and has the same probability columns.
[[nodiscard]] AuditReport audit_files(const Table& scores, const Table* pairs,
                                      const Task& task, const AuditOptions& options,
                                      const Exec& exec);

}  // namespace fmd
