#include "fmd/formats/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "fmd/core/file.h"
#include "fmd/formats/safetensors.h"
#include "formats/recognise.h"

namespace fmd {
namespace {

using Json = nlohmann::json;

const std::string kFormat = "1";
const std::string kWeight = "head.weight", kBias = "head.bias",
                  kHashes = "training.row_hashes";

[[noreturn]] void bad(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
              "the file is damaged: make it again with fmd train");
}

const std::string& metadata(const Safetensors& file, const std::string& key,
                            const std::string& source) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    bad(source, fmt::format("metadata '{}' is missing", key));
  return found->second;
}

const Tensor& tensor(const Safetensors& file, const std::string& name,
                     const std::string& source) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) bad(source, fmt::format("tensor '{}' is missing", name));
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
    bad(source, fmt::format("tensor '{}' has dtype {}, must be F64 or F32", name, t.dtype));
  if (t.shape != shape) {
    bad(source, fmt::format("tensor '{}' has shape {}, the encoder and the classes need {}",
                            name, shape_text(t.shape), shape_text(shape)));
  }
  std::vector<double> values = tensor_numbers(t, name);
  for (const double value : values)
    if (!std::isfinite(value))
      bad(source, fmt::format("tensor '{}' has an entry that is not finite", name));
  return values;
}

void read_head(const Safetensors& file, const std::string& source, Model& model) {
  const auto classes = static_cast<Index>(model.task.classes.size());
  if (classes < 2) bad(source, fmt::format("the task has {} classes, needs two", classes));
  const Tensor& weight = tensor(file, kWeight, source);
  // Two classes may be a sigmoid or a softmax; the tensor tells which.
  const Index outputs =
      classes == 2 && !weight.shape.empty() && weight.shape[0] == 1 ? 1 : classes;
  const Index inputs = model.backbone->cols();
  const auto w = finite_numbers(file, kWeight, {outputs, inputs}, source);
  const auto b = finite_numbers(file, kBias, {outputs}, source);
  model.head = std::make_shared<const LinearHead>(inputs, outputs);
  model.theta.resize(model.head->parameters());
  for (Index k = 0; k < outputs; ++k) {
    for (Index j = 0; j < inputs; ++j)
      model.theta[k * (inputs + 1) + j] = w[static_cast<std::size_t>(k * inputs + j)];
    model.theta[k * (inputs + 1) + inputs] = b[static_cast<std::size_t>(k)];
  }
}

std::vector<std::uint64_t> read_hashes(const Safetensors& file, const std::string& source) {
  const Tensor& t = tensor(file, kHashes, source);
  if (t.dtype != "I64" || t.shape.size() != 1)
    bad(source, fmt::format("tensor '{}' must be a list of I64", kHashes));
  std::vector<std::uint64_t> hashes(t.bytes.size() / sizeof(std::uint64_t));
  if (!hashes.empty()) std::memcpy(hashes.data(), t.bytes.data(), t.bytes.size());
  if (!std::is_sorted(hashes.begin(), hashes.end()))
    bad(source, fmt::format("tensor '{}' is not sorted", kHashes));
  return hashes;
}

std::string note_json(const TrainingNote& note) {
  return Json{{"rows", note.rows},
              {"l2", note.l2},
              {"relative_gradient", note.relative_gradient},
              {"data", note.data},
              {"data_sha256", note.data_sha256},
              {"seed", note.seed}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

TrainingNote read_note(const std::string& text, const std::string& source) {
  TrainingNote note;
  try {
    const Json json = Json::parse(text);
    note.rows = json.at("rows").get<Index>();
    note.l2 = json.at("l2").get<double>();
    note.relative_gradient = json.at("relative_gradient").get<double>();
    note.data = json.at("data").get<std::string>();
    note.data_sha256 = json.at("data_sha256").get<std::string>();
    note.seed = json.at("seed").get<std::uint64_t>();
  } catch (const Json::exception&) {
    bad(source, "metadata 'fmd.training' cannot be read");
  }
  return note;
}

}  // namespace

Model parse_model(std::span<const std::uint8_t> bytes, const std::string& source) {
  require_safetensors(bytes, source);
  const Safetensors file = Safetensors::parse(bytes, source);
  require_own_format(file, source);
  Model model;
  model.task = task_from_json(metadata(file, "fmd.task", source), source);
  model.backbone = std::make_shared<const TableBackbone>(
      Encoder::from_json(metadata(file, "fmd.encoder", source), source));
  model.note = read_note(metadata(file, "fmd.training", source), source);
  model.note.row_hashes = read_hashes(file, source);
  read_head(file, source, model);
  return model;
}

Model open_model(const std::filesystem::path& path) {
  const FileView file = FileView::open(path);
  return parse_model(file.bytes(), path.filename().string());
}

Bytes model_bytes(const Model& model) {
  const Index inputs = model.head->inputs(), outputs = model.head->outputs();
  const Eigen::Map<const Matrix> rows(model.theta.data(), outputs, inputs + 1);
  const Matrix weight = rows.leftCols(inputs);
  std::vector<double> bias;
  for (Index k = 0; k < outputs; ++k) bias.push_back(rows(k, inputs));
  std::vector<std::int64_t> hashes;
  for (const std::uint64_t hash : model.note.row_hashes)
    hashes.push_back(static_cast<std::int64_t>(hash));

  Safetensors file;
  file.metadata = {{"fmd.format", kFormat},
                   {"fmd.task", to_json(model.task)},
                   {"fmd.encoder", model.backbone->encoder().to_json()},
                   {"fmd.training", note_json(model.note)}};
  file.tensors = {{kWeight, tensor_view(weight)},
                  {kBias, tensor_view(bias, {outputs})},
                  {kHashes, tensor_view(hashes, {static_cast<Index>(hashes.size())})}};
  return file.write();
}

}  // namespace fmd
