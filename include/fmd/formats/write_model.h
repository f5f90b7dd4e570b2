#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/undo.h"

namespace fmd {

// A file of a model before and after a repair.
struct FileChange {
  std::string name;            // as it is on disk
  std::optional<Hash> before;  // none: the repair added it
  Hash after = {};
};

struct WrittenModel {
  std::filesystem::path main;     // target of the file that is opened: OUT, or a file in it
  std::vector<FileChange> files;  // that one first
  std::vector<UndoneFile> undo;
};

// Writes the files of a model after a patch under temporary names; `files` commits them. A
// model of one file becomes the file OUT. A model of several becomes the folder OUT, whose
// files keep their names. Bytes that stay are copied by the kernel, and files are hashed
// piece by piece: memory does not grow with the model. Throws Error(bad_model) for a patch
// that does not fit, and what OutputFiles throws.
[[nodiscard]] WrittenModel write_model(const ModelFile& original, const Patch& patch,
                                       OutputFiles& files,
                                       const std::filesystem::path& out);

// The same for files that no ModelFile reads: all that the set was asked for.
[[nodiscard]] WrittenModel write_files(const FileSet& set, const Patch& patch,
                                       OutputFiles& files,
                                       const std::filesystem::path& out);

// Writes the original files back from those of the repaired model. names: all files that
// the original has, as they are on disk, `changed.path()` first. One file becomes the file
// OUT, several become the folder OUT. The sha256 of each, in the same order. Throws
// Error(wrong_model) when a file is not the one that the undo belongs to, Error(bad_model)
// when the undo does not give the original.
[[nodiscard]] std::vector<Hash> restore_model(FileSet changed,
                                              const std::vector<UndoneFile>& undo,
                                              const std::vector<std::string>& names,
                                              OutputFiles& files,
                                              const std::filesystem::path& out);

// The original's files in memory, for reading: see FileSet::open. Throws what
// restore_model() throws.
[[nodiscard]] FileSet restored_files(FileSet changed, const std::vector<UndoneFile>& undo);

}  // namespace fmd
