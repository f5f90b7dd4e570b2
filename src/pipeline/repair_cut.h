#pragma once

#include "core/internal.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/debias_options.h"
#include "fmd/report/debias_report.h"

namespace fmd::internal {

// The model with what a repair changes as its head: the top layers of a network; of trees
// the leaves below a split on a column of the repaired attributes, or all leaves where
// pairs differ in more than these columns. A file of trees tells no l2: the repair then
// takes 1 / rows.
[[nodiscard]] Model cut_for_repair(const Model& model, const DebiasOptions& options,
                                   Index rows);

// The whole model with the parameters of one that was cut in this way.
[[nodiscard]] Model with_repaired(const Model& whole, const DebiasOptions& options,
                                  const Vector& theta);

// Which leaf values of trees differ; none for other models.
[[nodiscard]] std::optional<LeafEdit> leaf_edit(const Model& before, const Model& after);

}  // namespace fmd::internal
