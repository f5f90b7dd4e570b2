#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/internal.h"
#include "data/images/image_files.h"
#include "data/images/images_abi.h"
#include "fmd/model/backbone.h"
#include "model/onnx_abi.h"

namespace fmd::internal {

struct OnnxInput {
  std::string name;
  std::int32_t type = 0;    // as ONNX counts
  std::vector<Index> dims;  // with that of the rows; -1 = any
};

// Who runs a model: ONNX Runtime, or PyTorch, whose plug-in begins with the same table.
struct Runtime {
  std::string backend = "onnx";  // name of the plug-in
  std::uint32_t version = kFmdOnnxVersion;
  std::string name = "ONNX Runtime", model = "an ONNX model";  // for messages
  std::string hint =
      "build fmd with backends/onnx, or give the scores of the model: fmd audit --scores "
      "FILE";
};

// A stretch of a file beside the model.
struct ExternalData {
  std::string file;  // plain name
  Index offset = 0;
  Index length = -1;  // -1: to the end of the file
  auto operator<=>(const ExternalData&) const = default;
};

// The lower part of an ONNX or TorchScript model.
struct OnnxPart {
  Runtime runtime = {};
  std::string source;  // name of the file, for messages
  Bytes bytes;         // a model; empty: the head reads the input itself
  std::string output;  // the tensor that the head reads
  Index cols = 0;
  std::vector<OnnxInput> inputs;
  std::filesystem::path folder;       // of external data
  std::vector<ExternalData> outside;  // what it reads of external data
};

struct OnnxBatch;  // one input of one batch

// Features by the part's runtime, in batches on all threads; the library is opened by the
// first call of features(). Batches always have the same size, so that a row's features do
// not depend on how many rows there are.
class OnnxBackbone final : public Backbone {
 public:
  explicit OnnxBackbone(OnnxPart part);

  [[nodiscard]] Index cols() const override { return part_->cols; }
  [[nodiscard]] Hash hash() const override;
  [[nodiscard]] const InputSchema& inputs() const override { return schema_; }
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> rows,
                                                   const Exec& exec) const override;
  [[nodiscard]] std::shared_ptr<const Backbone> with_inputs(
      const std::vector<InputSpec>& specs, const InputFiles& files) const override;

  [[nodiscard]] std::shared_ptr<const Backbone> on_pair_images() const override {
    return pairs_;
  }

  [[nodiscard]] const OnnxPart& part() const { return *part_; }

 private:
  struct Session;
  void bind(const std::vector<InputSpec>& specs);
  struct Bound;
  void bind_one(const OnnxInput& input, const InputSpec& spec);
  [[nodiscard]] Bound bind_columns(const OnnxInput& input, const InputSpec& spec);
  [[nodiscard]] Bound bind_image(const OnnxInput& input, const InputSpec& spec);
  void add_column(const std::string& name, ColumnKind kind);
  // Numbers of one input for some rows.
  void fill(std::size_t input, const Table& table, std::span<const Index> rows,
            const FmdImages* decoder, OnnxBatch& into) const;
  void fill_images(const Bound& bound, const Table& table, std::span<const Index> rows,
                   const FmdImages& decoder, OnnxBatch& into) const;
  [[nodiscard]] const FmdImages* image_decoder(const Exec& exec) const;
  // Of all that the features of each row depend on, other than this backbone.
  [[nodiscard]] std::vector<Hash> row_hashes(const Inputs& inputs,
                                             std::span<const Index> rows,
                                             const Exec& exec) const;
  [[nodiscard]] std::unordered_map<std::string, Hash> image_hashes(
      const Inputs& inputs, std::span<const Index> rows, const Exec& exec) const;
  [[nodiscard]] Hash cache_key(const Exec& exec) const;
  // Features of rows that a cache has are put in place; those of `fresh` are made and kept.
  void take_from_cache(const Table& table, std::span<const Hash> hashes,
                       std::vector<Index>& fresh, const Exec& exec) const;
  void keep(const Table& table, std::span<const Hash> hashes,
            const std::vector<float>& made, const Exec& exec) const;
  [[nodiscard]] std::vector<float> run(const Inputs& inputs, std::span<const Index> rows,
                                       const Exec& exec) const;
  [[nodiscard]] Index batch_rows() const;
  void run_batch(const Session* session, const FmdImages* decoder, const Inputs& inputs,
                 std::span<const Index> rows, float* into) const;

  std::shared_ptr<const OnnxPart> part_;
  std::shared_ptr<Session> session_;  // shared by copies with other inputs
  // Of each input of the part: what it is made of, and the shape of one row.
  struct Bound {
    InputSpec spec;
    std::vector<Index> shape;  // -1: known when the tensors come
    bool planes = true;        // images: all of one channel, then the next
    [[nodiscard]] Index size() const;
  };
  std::vector<Bound> bound_;  // empty: not known yet
  std::string unbound_;       // why
  InputSchema schema_;
  std::shared_ptr<const ImageFiles> images_;
  std::shared_ptr<const OnnxBackbone> pairs_;  // on the images of the other side
  std::filesystem::path cache_;  // empty: features are not kept between commands
  struct Kept;
  std::shared_ptr<Kept> kept_;  // null: features are not kept
};

}  // namespace fmd::internal
