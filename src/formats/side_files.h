#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/formats/write_model.h"

namespace fmd::internal {

// A model with files beside the one that was opened that are not in memory, such as
// external data of an ONNX model. A repaired model needs them beside it too.
class HasSideFiles {
 public:
  virtual ~HasSideFiles() = default;
  [[nodiscard]] virtual std::vector<std::string> side_files() const = 0;  // plain names
  // The same as ModelFile::patch() for a model that gets copies of its side files: ranges
  // may be in them, and are as long as what they replace.
  [[nodiscard]] virtual Patch patch_copies(const Model& changed) const = 0;
};

// Null: the model has none.
[[nodiscard]] const HasSideFiles* side_files(const ModelFile& file);

// Writes a folder OUT with all files of the model after a patch of patch_copies(), which
// may be in side files. Each of those is read once, hashed and written, piece by piece.
// Throws what write_model() throws.
[[nodiscard]] WrittenModel write_with_side_files(const ModelFile& original,
                                                 const Patch& patch, OutputFiles& files,
                                                 const std::filesystem::path& out);

}  // namespace fmd::internal
