#pragma once

#include <string>
#include <vector>

#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/study.h"
#include "fmd/unlearn/path.h"

namespace fmd {

// Some rows of a study with the pairs of the repaired attributes: edit part or hold-out.
struct StudyPart {
  const Study* study = nullptr;
  std::vector<Index> rows;
  std::vector<StudyPairs> pairs;   // one per repaired attribute

  [[nodiscard]] Rows view() const { return study->rows(rows); }
  [[nodiscard]] std::vector<PairSet> sets() const;
};

// The candidates' parameters, before anything is measured.
struct Candidates {
  std::vector<PathPoint> points;
  Path path;                        // empty for average-column
  double residual = 0;              // of the normal equations at the last point
  int iterations = 0;
  std::string status;
};
[[nodiscard]] Candidates make_candidates(const Model& model, const StudyPart& edit, const Matrix& H,
                                         const DebiasOptions& options, const Exec& exec);

// Accuracy and bias of every candidate on the hold-out, paired with the original.
void measure_candidates(const Model& model, const StudyPart& holdout, const DebiasOptions& options,
                        const Exec& exec, std::vector<PathPoint>& points);

// The rule: position of the chosen candidate, -1 when there is none.
[[nodiscard]] int choose(const std::vector<PathPoint>& points, const DebiasOptions& options);
[[nodiscard]] std::string rule_in_words(const DebiasOptions& options);

// Features that carry the attributes.
[[nodiscard]] std::vector<Index> attribute_features(const Model& model,
                                                    const std::vector<const Attribute*>& attributes);

}  // namespace fmd
