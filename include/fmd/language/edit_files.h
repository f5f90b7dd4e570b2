#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fmd/core/output_files.h"
#include "fmd/formats/write_model.h"
#include "fmd/language/language_model.h"

namespace fmd {

// A language model's folder with another vocabulary head, as `transformers` loads it.
//
// A head that is tied to the input embeddings becomes a tensor of its own (`head_name`):
// the embeddings stay as they are, and config.json says "tie_word_embeddings": false. In a
// folder with one model.safetensors it stands at the end of that file; beside shards it is
// a file of its own, which the index names. A head that is untied already is replaced where
// it is. The numbers keep the dtype of the old ones.
//
// Copied are the ordinary files that stand in the folder itself. Other copies of the
// weights (pickles, GGUF, ...) hold the old head: they are left out.

struct LanguageFolder {
  std::vector<std::string> kept;      // plain names, sorted; config.json first
  std::vector<std::string> left_out;  // with the reason
};
// Throws Error(cannot_read), Error(unsupported) for a model that is one file.
[[nodiscard]] LanguageFolder language_folder(const std::filesystem::path& folder);

// Writes the folder OUT under temporary names; `files` commits it by one rename. original:
// the head as the folder has it. weight: the new W. The files' sha256, config.json first,
// and what an undo needs. Throws Error(bad_shape), Error(bad_model), Error(bad_value) for a
// number that the dtype cannot hold, and what OutputFiles throws.
[[nodiscard]] WrittenModel write_language_model(const std::filesystem::path& folder,
                                                const VocabularyHead& original,
                                                const FloatMatrix& weight,
                                                OutputFiles& files,
                                                const std::filesystem::path& out);

// Numbers as a safetensors dtype holds them: F32, F64, F16 or BF16, rounded to the nearest.
// Throws Error(unsupported) for another dtype, Error(bad_value).
[[nodiscard]] Bytes tensor_bytes(const FloatMatrix& numbers, const std::string& dtype);

}  // namespace fmd
