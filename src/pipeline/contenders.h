#pragma once

#include <vector>

#include "fmd/pipeline/debias.h"
#include "pipeline/candidates.h"

namespace fmd::internal {

// A model to compare the result with, or the reason why there is none.
struct Control {
  std::string name, title, reason;
  std::optional<Model> model;
};
[[nodiscard]] std::vector<Control> make_controls(const Model& whole, const Model& before,
                                                 const Model& after, const StudyPart& edit,
                                                 const StudyPart& holdout,
                                                 const std::optional<Table>& train,
                                                 const Exec& exec);

// Before, repaired and every control, audited on the same rows.
[[nodiscard]] std::vector<Contender> audit_all(const Model& before, const Model& after,
                                               const std::vector<Control>& controls,
                                               const Study& study,
                                               const AuditOptions& options,
                                               const Exec& exec);

// Flip gap of a two-class head at theta, if every pair kept the secant slope that it has
// at the model's own parameters. This is the gap in the sense of the quadratic path.
// Undefined for softmax.
[[nodiscard]] Predicted path_gap(const Model& before, const Vector& theta,
                                 const Study& study, const StudyPairs& pairs,
                                 const Exec& exec);
// The flip gap B to first order: B + grad B . (theta - the model's parameters). A gap
// cannot fall below 0: then it is capped.
[[nodiscard]] Predicted first_order_gap(const Model& before, const Vector& theta,
                                        const Study& study, const StudyPairs& pairs,
                                        const Exec& exec);

}  // namespace fmd::internal
