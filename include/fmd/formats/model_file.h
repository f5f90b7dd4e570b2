#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "fmd/core/types.h"
#include "fmd/model/model.h"

namespace fmd {

// Opens a model file. Its contents decide what it is, not its name. Today: the native
// .safetensors. Every length is checked against the file, and memory is taken only for
// bytes that exist. Throws Error(cannot_read), Error(bad_model) that says what is wrong,
// Error(unsupported) that names what the file seems to be (pickle, ONNX, XGBoost ...).
// Nothing in a file is ever executed.
[[nodiscard]] Model open_model(const std::filesystem::path& path);
[[nodiscard]] Model parse_model(std::span<const std::uint8_t> bytes,
                                const std::string& source);

// The model as a .safetensors file: head.weight [outputs, features] F64, head.bias
// [outputs] F64, training.row_hashes [rows] I64; metadata fmd.format, fmd.task,
// fmd.encoder, fmd.training (JSON texts). With hidden layers: head.0.weight, head.0.bias,
// head.1.weight ..., the lowest layer first, and metadata fmd.head {"activation": "relu",
// "hidden": [100, 100]}. Other languages' safetensors libraries read it. Same model, same
// bytes. Not for a model that was cut: see with_top().
[[nodiscard]] Bytes model_bytes(const Model& model);

}  // namespace fmd
