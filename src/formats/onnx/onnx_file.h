#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/formats/model_file.h"

namespace fmd::internal {

// Whether the bytes begin like an ONNX model.
[[nodiscard]] bool seems_onnx(std::span<const std::uint8_t> first_bytes);

// An ONNX model whose end is dense layers. Its backbone is run by ONNX Runtime; its head is
// ours. A patch changes the numbers of the head in place. Numbers that are in a file of
// external data move into the model file, so that the other file stays as it is and serves
// both models. Throws Error(bad_model, unsupported).
[[nodiscard]] std::unique_ptr<ModelFile> open_onnx(FileSet files);

}  // namespace fmd::internal
