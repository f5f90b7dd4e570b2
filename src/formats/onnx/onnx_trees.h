#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/formats/model_file.h"
#include "formats/onnx/graph.h"

namespace fmd::internal {

// Whether an operation of the model is a set of decision trees.
[[nodiscard]] bool has_onnx_trees(const OnnxGraph& graph);

// A TreeEnsembleClassifier on the numbers of the model's only input: what skl2onnx,
// onnxmltools and CatBoost write. No other program is needed to run it. A patch changes
// class_weights, float by float. Throws Error(bad_model), and Error(unsupported) that says
// why.
[[nodiscard]] std::unique_ptr<ModelFile> open_onnx_trees(FileSet files, OnnxGraph graph);

}  // namespace fmd::internal
