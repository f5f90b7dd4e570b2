#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/fields.h"
#include "fmd/formats/model_source.h"
#include "fmd/pipeline/fold_models.h"
#include "fmd/pipeline/match_plan.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/score_files.h"
#include "fmd/pipeline/source.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/audit_report.h"
#include "fmd/report/previous_audit.h"

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
  // Counts are shown as multiples of this, figures with 2 decimals; 0 = as they are. Limits
  // are judged on exact figures. Not with matched pairs or an earlier audit.
  Index round = 0;
  Index neighbours = 0;  // k of consistency and flip test; 0 = not measured. Cost:
                         // rows^2
  // Warnings that do not keep limits from passing, by name: audit_warning_names().
  std::vector<std::string> allow = {};
  TaskChanges task = {};  // of the model's task
  // What the model decides at, where its own task was replaced; none: as the model says.
  std::optional<double> model_threshold = std::nullopt;
  // What to compare with. A previous model scores the same rows, and changes are paired by
  // row. Both: the audit must be of that model.
  std::optional<PreviousAudit> previous = std::nullopt;
  const ModelSource* previous_model = nullptr;
};

// Every field that is a setting. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(AuditOptions& options);

// Bias per attribute and intersection, with intervals, the verdict on the task's limits,
// and what changed. Rows are read block by block, in memory that does not grow with them.
// Given and matched pairs, neighbours and a previous model look across blocks: for these
// all rows are read. Scores of another program are a model too: see ScoresSource. The bits
// do not depend on how the rows came, except the intervals of means and flip gaps of more
// than 200,000 rows (see Tally). Throws what reading and scoring throw; Error(bad_option)
// when no attribute is named, and for a previous model of scores; Error(wrong_model) for a
// previous model of other classes, and a previous audit of another model.
[[nodiscard]] AuditReport audit(const ModelSource& model, const DataSource& data,
                                const AuditOptions& options, const Exec& exec);

// The pairs of every attribute that the model reads, of the kind that the task names (flip
// | given:FILE).
[[nodiscard]] std::vector<std::optional<StudyPairs>> make_pairs(const Model& model,
                                                                const Study& study,
                                                                const Task& task,
                                                                std::span<const Index> rows,
                                                                const Exec& exec);

// The audit of rows that are in memory as the model sees them, for work that needs them
// again. `pairs` come from make_pairs(), `matches` from make_matches(); matches are made
// here when null. With `folds` each row is answered by the model of its fold.
// model_threshold: what the model itself decides at, to warn of another one.
[[nodiscard]] AuditReport audit_model(const Model& model, const Study& study,
                                      const std::vector<std::optional<StudyPairs>>& pairs,
                                      const AuditOptions& options, const Exec& exec,
                                      const MatchPlans* matches = nullptr,
                                      const FoldModels* folds = nullptr,
                                      double model_threshold = kUndefined);

// The same of several models whose backbones make the same features. Flips of many rows are
// made once for all models, some rows at a time, so that they take little memory.
struct AuditedModel {
  const Model* model;
  AuditOptions options;
};
[[nodiscard]] std::vector<AuditReport> audit_models(std::span<const AuditedModel> models,
                                                    const Study& study, const Exec& exec,
                                                    const MatchPlans* matches = nullptr,
                                                    const FoldModels* folds = nullptr);

}  // namespace fmd
