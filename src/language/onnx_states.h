#pragma once

#include <filesystem>
#include <memory>

#include "core/internal.h"
#include "language/state_source.h"

namespace fmd::internal {

// States by backbone.onnx, which tools/export_lm.py writes: input_ids and attention_mask
// (int64, rows x length) give `hidden` (float, rows x length x cols). Sequences of equal
// length are run together, so that none is padded. ONNX Runtime is opened by the first call
// of states().
[[nodiscard]] std::unique_ptr<StateSource> make_onnx_states(std::filesystem::path file,
                                                            Index cols);

}  // namespace fmd::internal
