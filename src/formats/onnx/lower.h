#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "formats/onnx/graph.h"
#include "model/onnx_backbone.h"

namespace fmd::internal {

// The part of a model below one of its tensors, as a model of its own whose only output is
// that tensor.
struct OnnxLower {
  Bytes bytes;                        // empty: the tensor is an input of the model
  std::vector<OnnxValue> inputs;      // that it needs
  std::vector<ExternalData> outside;  // external data that it needs
};

// bytes: the model that the graph was read from. Fields are copied as they are, so that the
// result is the same for the original and for every repair of it.
[[nodiscard]] OnnxLower lower_part(const OnnxGraph& graph,
                                   std::span<const std::uint8_t> bytes,
                                   const std::string& tensor);

// The model with external tensors stored in it, under the same names. numbers: raw bytes of
// each. Throws Error(unsupported) for a tensor that is not an initialiser.
struct OnnxInline {
  const OnnxTensor* tensor = nullptr;
  Bytes numbers;
};
[[nodiscard]] Bytes with_inline(const OnnxGraph& graph, std::span<const std::uint8_t> bytes,
                                std::vector<OnnxInline> tensors);

}  // namespace fmd::internal
