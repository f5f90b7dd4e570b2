#pragma once

#include "core/internal.h"
#include "fmd/pipeline/complete_task.h"

namespace fmd::internal {

// An image has no column to flip: attributes of a labelled task that a model of images does
// not read get matched pairs, by overlap, where no flag says otherwise. It is said.
void match_images(Model& model, const TaskChanges& changes, const Exec& exec);

}  // namespace fmd::internal
