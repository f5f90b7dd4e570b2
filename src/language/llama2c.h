#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/core/file.h"
#include "language/llama.h"

namespace fmd::internal {

// A model file of llama2.c, the first version of its format: seven sizes, then float32
// weights.
struct Llama2cFile {
  ModelConfig config;
  FloatMatrix embedding;
  FloatMatrix head;  // empty: the embedding is the head too
  Llama model;       // without its embedding, which must be set
  Hash hash;         // of all but a head of its own
};

// Throws Error(bad_model): sizes that make no model, or a file of another length.
[[nodiscard]] Llama2cFile read_llama2c(const InputFile& file);

}  // namespace fmd::internal
