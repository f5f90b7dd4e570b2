#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/model/model.h"
#include "fmd/model/monotone.h"
#include "fmd/pipeline/debias_options.h"
#include "fmd/report/debias_report.h"

namespace fmd::internal {

// The rules that a model of trees must obey: those that its file states, and those of
// options.monotone. `before` and `after` are not told yet. Empty for other models. Throws
// Error(bad_option) for a rule that cannot be read or names no number that the trees read,
// and Error(unsupported) for rules for a model without trees.
[[nodiscard]] std::vector<MonotoneNote> monotone_notes(const Model& model,
                                                       const DebiasOptions& options);

// The leaves that a rule compares.
[[nodiscard]] LeafOrder leaf_order(const Model& model, const MonotoneNote& note);

// Is no value of a first leaf above that of its second?
[[nodiscard]] bool keeps(const LeafOrder& order, const Vector& theta);

}  // namespace fmd::internal
