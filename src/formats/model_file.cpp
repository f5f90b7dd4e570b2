#include "fmd/formats/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json.h"
#include "fmd/core/file.h"
#include "fmd/formats/rows_file.h"
#include "fmd/formats/safetensors.h"
#include "fmd/model/encoder_backbone.h"
#include "fmd/model/mlp_head.h"
#include "formats/catboost/catboost.h"
#include "formats/lightgbm.h"
#include "formats/onnx/onnx_file.h"
#include "formats/recognise.h"
#include "formats/xgboost.h"

namespace fmd {
namespace {

using Json = nlohmann::json;

const std::string kFormat = "1";
const std::string kHashes = "training.row_hashes", kHead = "fmd.head";
constexpr Index kMostLayers = 1000;

// A linear head's tensors, or those of layer l of several, the lowest first.
std::string tensor_name(std::size_t layers, std::size_t l, const char* what) {
  return layers == 1 ? fmt::format("head.{}", what) : fmt::format("head.{}.{}", l, what);
}

[[noreturn]] void damaged_model(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
              "the file is damaged: make it again with fmd train");
}

const std::string& metadata(const Safetensors& file, const std::string& key,
                            const std::string& source) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    damaged_model(source, fmt::format("metadata '{}' is missing", key));
  return found->second;
}

const Tensor& tensor(const Safetensors& file, const std::string& name,
                     const std::string& source) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end())
    damaged_model(source, fmt::format("tensor '{}' is missing", name));
  return found->second;
}

void require_own_format(const Safetensors& file, const std::string& source) {
  const auto found = file.metadata.find("fmd.format");
  if (found == file.metadata.end()) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{}: a safetensors file of another program: it does not say how "
                    "columns become features",
                    source),
        "train the model with fmd train, or give its scores: fmd audit --scores FILE");
  }
  if (found->second != kFormat) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: format '{}', this version reads '{}'", source,
                            found->second, kFormat),
                "use the version of fmd that wrote the file");
  }
}

std::string shape_text(const std::vector<Index>& shape) {
  std::string text;
  for (const Index size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "()" : text;
}

std::vector<double> finite_numbers(const Safetensors& file, const std::string& name,
                                   const std::vector<Index>& shape,
                                   const std::string& source) {
  const Tensor& t = tensor(file, name, source);
  if (t.dtype != "F64" && t.dtype != "F32")
    damaged_model(
        source, fmt::format("tensor '{}' has dtype {}, must be F64 or F32", name, t.dtype));
  if (t.shape != shape) {
    damaged_model(
        source, fmt::format("tensor '{}' has shape {}, the encoder and the classes need {}",
                            name, shape_text(t.shape), shape_text(shape)));
  }
  std::vector<double> values = tensor_numbers(t, name);
  for (const double value : values)
    if (!std::isfinite(value))
      damaged_model(source,
                    fmt::format("tensor '{}' has an entry that is not finite", name));
  return values;
}

// Two classes may be a sigmoid or a softmax; the shape of the tensor shows which.
Index output_count(const Safetensors& file, const std::string& weight, Index classes,
                   const std::string& source) {
  const std::vector<Index>& shape = tensor(file, weight, source).shape;
  return classes == 2 && !shape.empty() && shape[0] == 1 ? 1 : classes;
}

struct HeadShape {
  std::vector<Index> hidden;
  Activation activation = Activation::relu;
};

HeadShape read_shape(const Safetensors& file, const std::string& source) {
  HeadShape shape;
  const auto found = file.metadata.find(kHead);
  if (found == file.metadata.end()) return shape;  // a linear head
  try {
    const Json json = parse_json<Json>(found->second, source, ErrorKind::bad_model,
                                       "metadata 'fmd.head' cannot be read");
    shape.hidden = json.at("hidden").get<std::vector<Index>>();
    shape.activation = parse_activation(json.at("activation").get<std::string>());
  } catch (const Json::exception&) {
    damaged_model(source, "metadata 'fmd.head' cannot be read");
  } catch (const Error& error) {
    damaged_model(source, fmt::format("metadata 'fmd.head': {}", error.what()));
  }
  const auto layers = static_cast<Index>(shape.hidden.size());
  if (layers < 1 || layers > kMostLayers)
    damaged_model(source, fmt::format("metadata 'fmd.head': {} hidden layers", layers));
  for (const Index width : shape.hidden)
    if (width < 1)
      damaged_model(source, fmt::format("metadata 'fmd.head': a width of {}", width));
  return shape;
}

// Memory is taken only for widths that a tensor in the file has.
void read_head(const Safetensors& file, const std::string& source, Model& model) {
  const auto classes = static_cast<Index>(model.task.classes.size());
  if (classes < 2)
    damaged_model(source, fmt::format("the task has {} classes, needs two", classes));
  const HeadShape shape = read_shape(file, source);
  const std::size_t layers = shape.hidden.size() + 1;
  std::vector<Index> widths = shape.hidden;
  widths.insert(widths.begin(), model.backbone->cols());
  widths.push_back(
      output_count(file, tensor_name(layers, layers - 1, "weight"), classes, source));
  std::vector<double> theta;
  for (std::size_t l = 0; l < layers; ++l) {
    const Index inputs = widths[l], outputs = widths[l + 1];
    const auto w =
        finite_numbers(file, tensor_name(layers, l, "weight"), {outputs, inputs}, source);
    const auto b = finite_numbers(file, tensor_name(layers, l, "bias"), {outputs}, source);
    const Vector layer = LinearHead(inputs, outputs)
                             .from(Eigen::Map<const Matrix>(w.data(), outputs, inputs),
                                   Eigen::Map<const Vector>(b.data(), outputs));
    theta.insert(theta.end(), layer.begin(), layer.end());
  }
  model.head = make_head(std::move(widths), shape.activation);
  model.theta = Eigen::Map<const Vector>(theta.data(), static_cast<Index>(theta.size()));
}

// Earlier versions kept the fingerprints of training rows in the model.
std::vector<std::uint64_t> read_hashes(const Safetensors& file, const std::string& source) {
  if (!file.tensors.contains(kHashes)) return {};
  const Tensor& t = tensor(file, kHashes, source);
  if (t.dtype != "I64" || t.shape.size() != 1)
    damaged_model(source, fmt::format("tensor '{}' must be a list of I64", kHashes));
  std::vector<std::uint64_t> hashes(t.bytes.size() / sizeof(std::uint64_t));
  if (!hashes.empty()) std::memcpy(hashes.data(), t.bytes.data(), t.bytes.size());
  if (!std::is_sorted(hashes.begin(), hashes.end()))
    damaged_model(source, fmt::format("tensor '{}' is not sorted", kHashes));
  return hashes;
}

std::string note_json(const TrainingNote& note) {
  Json json{{"rows", note.rows},
            {"l2", note.l2},
            {"relative_gradient", note.relative_gradient},
            {"data", note.data},
            {"data_sha256", note.data_sha256},
            {"seed", note.seed}};
  const std::string rows =
      note.row_hashes.empty() ? note.rows_sha256 : hex(sha256(rows_bytes(note.row_hashes)));
  if (!rows.empty()) json["rows_sha256"] = rows;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

TrainingNote read_note(const std::string& text, const std::string& source) {
  TrainingNote note;
  try {
    const Json json = parse_json<Json>(text, source, ErrorKind::bad_model,
                                       "metadata 'fmd.training' cannot be read");
    note.rows = json.at("rows").get<Index>();
    note.l2 = json.at("l2").get<double>();
    note.relative_gradient = json.at("relative_gradient").get<double>();
    note.data = json.at("data").get<std::string>();
    note.data_sha256 = json.at("data_sha256").get<std::string>();
    note.seed = json.at("seed").get<std::uint64_t>();
    if (json.contains("rows_sha256"))
      note.rows_sha256 = json["rows_sha256"].get<std::string>();
  } catch (const Json::exception&) {
    damaged_model(source, "metadata 'fmd.training' cannot be read");
  }
  return note;
}

constexpr std::size_t kFirstBytes = 65536;  // that a format may look at

class NativeFile final : public ModelFile {
 public:
  explicit NativeFile(FileSet files)
      : ModelFile(std::move(files)),
        model_(parse_model(bytes(), path().filename().string())) {
    for (AttributeSpec& spec : model_.task.attributes) spec.stored_in.file = path();
    if (const auto rows = rows_file_of(path());
        !model_.note.rows_sha256.empty() && std::filesystem::is_regular_file(rows))
      model_.note.row_hashes = read_rows(rows, model_.note.rows_sha256);
  }
  [[nodiscard]] const Model& model() const override { return model_; }
  void use_rows(const std::filesystem::path& rows) override {
    model_.note.row_hashes = read_rows(rows, model_.note.rows_sha256);
  }
  // The file is written anew: a model that was stored as F32 becomes F64.
  [[nodiscard]] Patch patch(const Model& changed) const override {
    Model now = fmd::with_theta(model_, changed.theta);
    now.task = changed.task;
    return {difference("", bytes(), model_bytes(now)), {}};
  }

 private:
  Model model_;
};

}  // namespace

Model parse_model(std::span<const std::uint8_t> bytes, const std::string& source) {
  require_safetensors(bytes, source);
  const Safetensors file = Safetensors::parse(bytes, source);
  require_own_format(file, source);
  Model model;
  model.task = task_from_json(metadata(file, "fmd.task", source), source);
  model.backbone = std::make_shared<const EncoderBackbone>(
      Encoder::from_json(metadata(file, "fmd.encoder", source), source));
  model.note = read_note(metadata(file, "fmd.training", source), source);
  model.note.row_hashes = read_hashes(file, source);
  read_head(file, source, model);
  return model;
}

void ModelFile::use_rows(const std::filesystem::path& rows) {
  throw Error(ErrorKind::bad_option,
              fmt::format("{}: {} does not know which rows it was trained on",
                          rows.string(), path().filename().string()),
              "training rows stand beside models of fmd train alone");
}

std::unique_ptr<ModelSource> ModelFile::with_theta(const Vector& theta) const {
  return std::make_unique<ModelInMemory>(fmd::with_theta(model(), theta));
}

const ModelFormats& model_formats() {
  static const ModelFormats formats = {
      {"native",
       [](const std::filesystem::path&, std::span<const std::uint8_t> first) {
         return first.size() > 8 && first[8] == '{' && !seems_onnx(first);
       },
       [](FileSet files) -> std::unique_ptr<ModelFile> {
         return std::make_unique<NativeFile>(std::move(files));
       }},
      catboost_format(),  // before XGBoost: a name of a category may be any text
      xgboost_format(),
      lightgbm_format(),
      {"onnx",
       [](const std::filesystem::path&, std::span<const std::uint8_t> first) {
         return seems_onnx(first);
       },
       open_onnx}};
  return formats;
}

std::unique_ptr<ModelFile> open_model_file(const std::filesystem::path& path,
                                           const ModelFormats& formats) {
  return open_model_file(FileSet::open(path), formats);
}

std::unique_ptr<ModelFile> open_model_file(FileSet files, const ModelFormats& formats) {
  const std::span<const std::uint8_t> bytes = files.bytes();
  const auto first = bytes.first(std::min(bytes.size(), kFirstBytes));
  for (const ModelFormat& format : formats)
    if (format.recognises(files.path(), first)) return format.open(std::move(files));
  require_safetensors(bytes, files.source());
  return std::make_unique<NativeFile>(std::move(files));
}

Model open_model(const std::filesystem::path& path, const ModelFormats& formats) {
  return open_model_file(path, formats)->model();
}

Bytes model_bytes(const Model& model) {
  const std::vector<Index> widths = model.head->widths();
  require_option(std::ssize(widths) - 2 <= kMostLayers, "model file", "hidden layers",
                 std::ssize(widths) - 2, fmt::format("at most {}", kMostLayers));
  const std::vector<HeadLayer> all = layers_of(*model.head);
  const std::size_t layers = all.size();
  if (model.head->linear() && !all[0].head.whole())
    throw Error(ErrorKind::unsupported,
                "a native model file holds every weight and intercept of its head",
                "write the model in the format that it came from");
  std::vector<Matrix> weights(layers);
  std::vector<std::vector<double>> biases(layers);
  Safetensors file;
  file.metadata = {{"fmd.format", kFormat},
                   {"fmd.task", to_json(model.task)},
                   {"fmd.encoder", encoder_of(*model.backbone).to_json()},
                   {"fmd.training", note_json(model.note)}};
  if (const auto* head = dynamic_cast<const MlpHead*>(model.head.get())) {
    const std::vector<Index> hidden(widths.begin() + 1, widths.end() - 1);
    file.metadata[kHead] =
        Json{{"activation", to_string(head->activation())}, {"hidden", hidden}}.dump();
  }
  for (std::size_t l = 0; l < layers; ++l) {
    const auto& [start, layer] = all[l];
    const Vector theta = model.theta.segment(start, layer.parameters());
    const Vector bias = layer.b(theta);
    weights[l] = layer.W(theta);
    biases[l].assign(bias.begin(), bias.end());
    file.tensors[tensor_name(layers, l, "weight")] = tensor_view(weights[l]);
    file.tensors[tensor_name(layers, l, "bias")] =
        tensor_view(biases[l], {layer.outputs()});
  }
  return file.write();
}

}  // namespace fmd
