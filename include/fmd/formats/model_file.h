#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/formats/file_set.h"
#include "fmd/formats/model_source.h"
#include "fmd/formats/patch.h"
#include "fmd/model/model.h"

namespace fmd {

// A model in a file, or in several that stand beside each other. Their bytes stay in
// memory.
class ModelFile : public ModelSource {
 public:
  [[nodiscard]] const std::filesystem::path& path() const { return files_.path(); }
  // The bytes of all its files; "" is the one that was opened.
  [[nodiscard]] NamedBytes files() const { return files_.all(); }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return files().at(""); }
  [[nodiscard]] const FileSet& file_set() const { return files_; }
  [[nodiscard]] virtual std::string format() const { return "fmd"; }  // for people

  // What turns these files into those of `changed`, which is this model with another theta.
  // It touches nothing but the head's numbers, and the task where the format stores one and
  // it is another one. Throws Error(bad_shape).
  [[nodiscard]] virtual Patch patch(const Model& changed) const = 0;
  [[nodiscard]] std::unique_ptr<ModelSource> with_theta(const Vector& theta) const override;
  // Takes MODEL.rows from another place. Throws what read_rows() throws, and
  // Error(bad_option) where the model has no such file.
  virtual void use_rows(const std::filesystem::path& rows);
  // What only this format can tell, for people: lines of a key and a text. See
  // describe_model().
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> details() const {
    return {};
  }

 protected:
  // files: with every file of the model asked for.
  explicit ModelFile(FileSet files) : files_(std::move(files)) {}

 private:
  FileSet files_;
};

// A kind of model file. Contents decide what a file is, not its name.
struct ModelFormat {
  std::string name;
  std::function<bool(const std::filesystem::path& path,
                     std::span<const std::uint8_t> first_bytes)>
      recognises;
  std::function<std::unique_ptr<ModelFile>(FileSet files)> open;
};

// The formats of this library; the native .safetensors is the first. A program that has
// formats of its own adds them to a copy and hands it on.
using ModelFormats = std::vector<ModelFormat>;
[[nodiscard]] const ModelFormats& model_formats();

// Opens a model file by the first format that recognises it. Every length is checked
// against the file, and memory is taken only for bytes that exist. Throws
// Error(cannot_read), Error(bad_model) that says what is wrong, Error(unsupported) that
// names what the file seems to be (pickle, ONNX, XGBoost ...). Nothing in a file is ever
// executed.
[[nodiscard]] std::unique_ptr<ModelFile> open_model_file(
    const std::filesystem::path& path, const ModelFormats& formats = model_formats());
[[nodiscard]] std::unique_ptr<ModelFile> open_model_file(
    FileSet files, const ModelFormats& formats = model_formats());
// The model alone.
[[nodiscard]] Model open_model(const std::filesystem::path& path,
                               const ModelFormats& formats = model_formats());
// A native model that is in memory.
[[nodiscard]] Model parse_model(std::span<const std::uint8_t> bytes,
                                const std::string& source);

// The model as a .safetensors file: head.weight [outputs, features] F64, head.bias
// [outputs] F64; metadata fmd.format, fmd.task, fmd.encoder, fmd.training (JSON texts; the
// rows that it was trained on are in MODEL.rows, see rows_file.h). With hidden layers:
// head.0.weight, head.0.bias, head.1.weight ..., the lowest layer first, and metadata
// fmd.head {"activation": "relu", "hidden": [100, 100]}. Other languages' safetensors
// libraries read it. Same model, same bytes. Not for a model that was cut: see with_top().
// Throws Error(unsupported) for a model that such a file cannot hold.
[[nodiscard]] Bytes model_bytes(const Model& model);

}  // namespace fmd
