#pragma once

#include "core/internal.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/debias_options.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/debias_report.h"

namespace fmd::internal {

// The model with what a repair changes as its head: the top layers of a network, all
// leaves of trees. A file of trees tells no l2: the repair then takes 1 / rows.
[[nodiscard]] Model cut_for_repair(const Model& model, const DebiasOptions& options,
                                   Index rows);

// The leaves of trees that a flip of the repaired attributes can reach. None: there are no
// trees, or pairs differ in more than these columns.
[[nodiscard]] std::vector<Index> touched_leaves(const Model& model, const Study& study,
                                                const std::vector<std::size_t>& repaired);

// The whole model with the parameters of one that was cut in this way.
[[nodiscard]] Model with_repaired(const Model& whole, const Vector& theta);

// Which leaf values of trees differ; none for other models.
[[nodiscard]] std::optional<LeafEdit> leaf_edit(const Model& before, const Model& after);

}  // namespace fmd::internal
