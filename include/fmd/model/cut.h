#pragma once

#include "fmd/model/model.h"

namespace fmd {

// The model with its top `layers` layers as the head. The layers below become part of the
// backbone, which runs them once over the rows that it is given and keeps their outputs as
// float32 features. One layer gives a linear head; all layers give the model as it is. The
// answers are the same up to the rounding of those features. Throws Error(bad_option) for
// fewer than one layer or more than there are.
[[nodiscard]] Model cut_layers(const Model& model, Index layers);

// The whole model with the parameters of a cut one on top: what is written to a file.
// Throws Error(bad_shape).
[[nodiscard]] Model with_top(const Model& whole, const Vector& top);

}  // namespace fmd
