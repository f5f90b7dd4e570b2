#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/metrics/flip_tally.h"
#include "fmd/metrics/tally.h"
#include "fmd/pipeline/match_plan.h"
#include "fmd/pipeline/score_files.h"
#include "fmd/pipeline/slope.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/audit_report.h"

namespace fmd {

struct AuditOptions {
  double confidence = 0.95;
  Index replicates = 1000;                      // of every bootstrap
  Bootstrap intervals = Bootstrap::percentile;  // of figures that are bootstrapped
  Index permutations = 0;                       // of the tests of group gaps; 0 = none
  bool intersections = true;                    // of any two attributes
  bool by_name = true;        // also the rates and measures by name: see docs/metrics.md
  bool weighted = false;      // rows count by the task's weight column
  bool include_rows = false;  // groups and labels under kMaskedRows rows may be compared
  Index neighbours = 0;       // k of consistency and flip test; 0 = not measured. Cost:
                              // rows^2
};

struct AuditedAttribute {
  const Attribute* attribute = nullptr;  // of the same rows as `scored`
  Reads reads = Reads::unknown;
  std::optional<PairScores> pairs;
  PairKind pairs_kind = PairKind::flip;
  std::optional<SlopeReport> slope;
  std::optional<Distortion> distortion = std::nullopt;
  const MatchPlan* match = nullptr;  // matched pairs; see `matching` for their columns
  MatchInput matching = {};
};

// Tallies of one attribute. Its groups are counted in the tally of all rows.
struct TalliedAttribute {
  const Attribute* attribute = nullptr;  // its codes are not used
  Reads reads = Reads::unknown;
  std::optional<FlipTally> flips;
  PairKind pairs_kind = PairKind::flip;
  std::optional<SlopeReport> slope;
  std::optional<MatchReport> match;
};

// The plan for these attributes: codes are those of Attribute::group.
[[nodiscard]] TallyPlan audit_plan(const Task& task,
                                   const std::vector<const Attribute*>& attributes,
                                   bool labelled, const AuditOptions& options);

// The audit of rows that were counted, in one part or in many. Every figure of an audit is
// computed here. Attribute a of the tally's plan is attributes[a].
[[nodiscard]] AuditReport audit_tallies(const Tally& tally, const Task& task,
                                        const std::vector<TalliedAttribute>& attributes,
                                        const AuditOptions& options, const Exec& exec);

// The audit of rows that any model scored.
[[nodiscard]] AuditReport audit_scores(const Scored& scored, const Task& task,
                                       const std::vector<AuditedAttribute>& attributes,
                                       const AuditOptions& options, const Exec& exec);

// The pairs of every attribute that the model reads, of the kind that the task names (flip
// | given:FILE).
[[nodiscard]] std::vector<std::optional<StudyPairs>> make_pairs(const Model& model,
                                                                const Study& study,
                                                                const Task& task,
                                                                std::span<const Index> rows,
                                                                const Exec& exec);

// Scores and pairs of a model on a study, then audit_scores. `pairs` come from
// make_pairs(), `matches` from make_matches(); matches are made here when null.
[[nodiscard]] AuditReport audit_model(const Model& model, const Study& study,
                                      const std::vector<std::optional<StudyPairs>>& pairs,
                                      const AuditOptions& options, const Exec& exec,
                                      const MatchPlans* matches = nullptr);

}  // namespace fmd
