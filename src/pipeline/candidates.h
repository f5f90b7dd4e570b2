#pragma once

#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/study.h"
#include "fmd/unlearn/path.h"
#include "fmd/unlearn/solve.h"

namespace fmd::internal {

// Some rows of a study with the pairs of the repaired attributes: edit part or hold-out.
struct StudyPart {
  const Study* study = nullptr;
  std::vector<Index> rows;
  std::vector<StudyPairs> pairs;  // one per repaired attribute

  [[nodiscard]] Rows view() const { return study->rows(rows); }
  [[nodiscard]] std::vector<PairSet> sets() const;
};

// What candidates are made from.
struct CandidateInput {
  const Model& model;
  const StudyPart& edit;
  const Study* train = nullptr;  // none: no training rows were given
};

// The candidates' parameters, before anything is measured.
struct Candidates {
  std::vector<Candidate> all;
  Path path;                              // solve and path only
  InverseSummary solve;                   // largest residual; iterations of all candidates
  double relative_gradient = kUndefined;  // remove, replace: see DebiasReport
  std::string status;
  std::string hessian_source;  // "train" | "edit" | "edit pairs" | "none"
};
[[nodiscard]] Candidates make_candidates(const CandidateInput& input,
                                         const DebiasOptions& options, const Exec& exec);

// The soft group gaps of the options, in the form that solve takes. Throws
// Error(bad_option).
[[nodiscard]] std::vector<GapPenalty> gap_penalties(const Model& model,
                                                    const StudyPart& edit,
                                                    const DebiasOptions& options);

// Features that carry the attributes.
[[nodiscard]] std::vector<Index> attribute_features(
    const Model& model, const std::vector<const Attribute*>& attributes);

}  // namespace fmd::internal
