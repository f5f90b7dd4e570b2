#include "formats/torch/torch_file.h"

#include <array>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "core/index.h"
#include "core/json.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/torchscript.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/mlp_head.h"
#include "formats/torch/tensor_places.h"
#include "model/onnx_backbone.h"
#include "model/torch_abi.h"

namespace fmd {
namespace internal {
namespace {

const std::string kSaveAgain =
    "save the model again: torch.jit.script(model).save(\"model.pt\")";

Runtime torch_runtime() {
  return {.backend = "torch",
          .version = kFmdTorchVersion,
          .name = "PyTorch",
          .model = "a TorchScript model",
          .hint =
              "install PyTorch's library and build the plug-in: ./dev setup torch, "
              "./dev build; or give the scores of the model: fmd audit --scores FILE"};
}

// A model that the plug-in has open.
class Opened {
 public:
  Opened(std::span<const std::uint8_t> bytes, const BackendFiles* backends,
         const std::string& source) {
    const Runtime runtime = torch_runtime();
    table_ = static_cast<const FmdTorch*>(
        open_backend(runtime.backend, runtime.version, backends,
                     fmt::format("{}: {}", source, runtime.model), runtime.hint));
    std::array<char, 2048> message{};
    model_ = table_->models.open(nullptr, bytes.data(), bytes.size(), nullptr,
                                 message.data(), message.size());
    if (model_ == nullptr)
      throw Error(
          ErrorKind::bad_model,
          fmt::format("{}: PyTorch {} refuses it: {}", source,
                      table_->models.library(nullptr), safe_text(message.data())),
          "save the model with this version of PyTorch or an earlier one, and check "
          "that torch.jit.load() opens it");
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (model_ != nullptr) table_->models.close(model_);
  }
  [[nodiscard]] nlohmann::json tail(const std::string& source) const {
    std::array<char, 2048> message{};
    const char* text = table_->tail(model_, message.data(), message.size());
    if (text == nullptr)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: {}", source, safe_text(message.data())),
                  "a repair changes the last dense layer; give the scores of this model: "
                  "fmd audit --scores FILE");
    return parse_json(text, source);
  }

 private:
  const FmdTorch* table_ = nullptr;
  void* model_ = nullptr;
};

// A tensor of the head in the file.
struct Numbers {
  std::string name;   // of the attribute
  std::string entry;  // of the archive
  std::size_t begin = 0;
  Index count = 0;
  bool wide = false;  // float64
  [[nodiscard]] std::size_t size() const { return at(count) * (wide ? 8 : 4); }
};

struct Layer {
  Numbers weight, bias;  // bias.count 0: none
  Index inputs = 0, outputs = 0;
};

class TorchFile final : public ModelFile {
 public:
  TorchFile(FileSet files, const BackendFiles* backends)
      : ModelFile(std::move(files)), entries_(read_zip(bytes(), source())) {
    if (archive_kind(entries_) != ArchiveKind::torchscript)
      refuse_archive(bytes(), source());
    const nlohmann::json tail = Opened(bytes(), backends, source()).tail(source());
    find_layers(tail);
    open_head(tail);
    OnnxPart part{.runtime = torch_runtime(),
                  .source = source(),
                  .bytes = without_head(),
                  .output = "features",
                  .cols = layers_.front().inputs,
                  .inputs = {},
                  .folder = {},
                  .outside = {}};
    for (const auto& input : tail.at("inputs"))
      part.inputs.push_back({input.at("name").get<std::string>(),
                             input.at("type").get<std::int32_t>(),
                             input.at("dims").get<std::vector<Index>>()});
    operations_ = tail.at("operations").get<Index>();
    inputs_ = part.inputs;
    stop_ = tail.at("stop").get<std::string>();
    end_ = tail.at("end").get<std::string>();
    model_.backbone = std::make_shared<const OnnxBackbone>(std::move(part));
  }

  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::string format() const override { return "TorchScript"; }
  [[nodiscard]] Patch patch(const Model& changed) const override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override;

 private:
  [[nodiscard]] std::string source() const { return path().filename().string(); }

  [[noreturn]] void wrong(const std::string& what) const {
    throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source(), what), kSaveAgain);
  }

  // Names of an archive begin with that of its folder.
  [[nodiscard]] std::string folder() const {
    const std::string last = "/data.pkl";
    for (const auto& [name, entry] : entries_)
      if (name.ends_with(last)) return name.substr(0, name.size() - last.size());
    wrong("it has no data.pkl");
  }

  void find_layers(const nlohmann::json& tail) {
    const auto entry = entries_.find(folder() + "/data.pkl");
    if (entry == entries_.end() || !entry->second.stored) wrong("data.pkl is compressed");
    const auto places = tensor_places(
        bytes().subspan(entry->second.begin, entry->second.end - entry->second.begin),
        source());
    for (const auto& from : tail.at("layers")) {
      Layer layer;
      layer.inputs = from.at("inputs").get<Index>();
      layer.outputs = from.at("outputs").get<Index>();
      layer.weight = numbers(places, from.at("weight"), {layer.outputs, layer.inputs});
      if (!from.at("bias").empty())
        layer.bias = numbers(places, from.at("bias"), {layer.outputs});
      layers_.push_back(std::move(layer));
    }
  }

  // The place of an attribute's numbers in the file.
  [[nodiscard]] Numbers numbers(const std::map<std::string, TensorPlace>& places,
                                const nlohmann::json& path,
                                const std::vector<Index>& sizes) const {
    Numbers made;
    for (const auto& name : path)
      made.name += (made.name.empty() ? "" : ".") + name.get<std::string>();
    const auto found = places.find(made.name);
    if (found == places.end())
      wrong(fmt::format("its tensor \"{}\" is not in data.pkl", safe_text(made.name)));
    const TensorPlace& place = found->second;
    const std::vector<Index> plain =
        sizes.size() == 2 ? std::vector<Index>{sizes[1], 1} : std::vector<Index>{1};
    made.wide = place.type == "DoubleStorage";
    made.entry = folder() + "/data/" + place.storage;
    made.count = 1;
    for (const Index size : sizes) made.count *= size;
    const auto entry = entries_.find(made.entry);
    if (entry == entries_.end() || !entry->second.stored)
      wrong(
          fmt::format("the numbers of tensor \"{}\" are not in it", safe_text(made.name)));
    if (place.shared)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: the numbers of its last layer (\"{}\") are used at "
                              "another place too",
                              source(), safe_text(made.name)),
                  "a repair would change both: save the model with weights of its own");
    const std::size_t width = made.wide ? 8 : 4,
                      room = (entry->second.end - entry->second.begin) / width;
    if (place.sizes != sizes || place.strides != plain || place.offset < 0 ||
        at(place.offset) > room || at(made.count) > room - at(place.offset))
      wrong(fmt::format("tensor \"{}\" is not stored row by row", safe_text(made.name)));
    made.begin = entry->second.begin + at(place.offset) * width;
    return made;
  }

  [[nodiscard]] double number(const Numbers& from, Index i) const {
    const std::uint8_t* place = bytes().data() + from.begin + at(i) * (from.wide ? 8 : 4);
    double value = 0;
    if (from.wide) {
      std::memcpy(&value, place, 8);
    } else {
      float narrow = 0;
      std::memcpy(&narrow, place, 4);
      value = narrow;
    }
    if (!std::isfinite(value)) wrong("a number of the last layer is not finite");
    return value;
  }

  // Calls visit(numbers, place among them, parameter) for each number of the head.
  template <typename Visit>
  void each_number(const Visit& visit) const {
    const std::vector<HeadLayer> own = layers_of(*model_.head);
    for (std::size_t l = 0; l < own.size(); ++l) {
      const Layer& layer = layers_[l];
      for (Index o = 0; o < layer.outputs; ++o) {
        for (Index i = 0; i < layer.inputs; ++i)
          visit(layer.weight, o * layer.inputs + i,
                own[l].start + own[l].head.weight(o, i));
        if (layer.bias.count > 0)
          visit(layer.bias, o, own[l].start + own[l].head.intercept(o));
      }
    }
  }

  void open_head(const nlohmann::json& tail) {
    std::vector<Index> widths = {layers_.front().inputs};
    for (const Layer& layer : layers_) widths.push_back(layer.outputs);
    const Index outputs = widths.back();
    if (layers_.size() == 1) {
      model_.head = std::make_shared<const LinearHead>(
          widths[0], outputs,
          LinearHeadOptions{.intercept = layers_[0].bias.count > 0,
                            .output_of = {},
                            .link = outputs == 1 ? Link::sigmoid : Link::softmax});
    } else {
      activation_ = tail.at("activation").get<std::string>();
      model_.head = make_head(std::move(widths), parse_activation(activation_));
    }
    model_.theta = Vector::Zero(model_.head->parameters());
    each_number([&](const Numbers& from, Index i, Index parameter) {
      model_.theta[parameter] = number(from, i);
    });
    for (Index k = 0; k < std::max<Index>(2, outputs); ++k)
      model_.task.classes.push_back(std::to_string(k));
  }

  // The file with zeros for the numbers of the head and for their checksums: the same for
  // every repair of it.
  [[nodiscard]] Bytes without_head() const {
    Bytes all(bytes().begin(), bytes().end());
    const auto clear = [&](std::size_t begin, std::size_t size) {
      std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(begin), size, std::uint8_t{0});
    };
    each_tensor([&](const Numbers& tensor) {
      clear(tensor.begin, tensor.size());
      const ZipEntry& entry = entries_.at(tensor.entry);
      clear(entry.directory_check, 4);
      if (entry.own_check > 0) clear(entry.own_check, 4);
    });
    return all;
  }

  template <typename Visit>
  void each_tensor(const Visit& visit) const {
    for (const Layer& layer : layers_) {
      visit(layer.weight);
      if (layer.bias.count > 0) visit(layer.bias);
    }
  }

  void put(double value, const Numbers& into, Index i, Bytes& file) const {
    const auto narrow = static_cast<float>(value);
    if (!std::isfinite(value) || (!into.wide && !std::isfinite(narrow)))
      throw Error(
          ErrorKind::bad_value,
          fmt::format("{}: a parameter of {} does not fit into the file", source(), value));
    std::uint8_t* place = file.data() + into.begin + at(i) * (into.wide ? 8 : 4);
    if (into.wide) {
      std::memcpy(place, &value, 8);
    } else {
      std::memcpy(place, &narrow, 4);
    }
  }

  ZipEntries entries_;
  std::vector<Layer> layers_;
  std::vector<OnnxInput> inputs_;
  Index operations_ = 0;
  std::string activation_, stop_, end_;
  Model model_;
};

// A parameter that stays keeps its stored number, to the bit.
Patch TorchFile::patch(const Model& changed) const {
  require_size("model", "theta", changed.theta.size(), model_.theta.size());
  Bytes now(bytes().begin(), bytes().end());
  each_number([&](const Numbers& into, Index i, Index parameter) {
    if (changed.theta[parameter] != model_.theta[parameter])
      put(changed.theta[parameter], into, i, now);
  });
  each_tensor([&](const Numbers& t) { update_check(now, entries_.at(t.entry)); });
  return {difference("", bytes(), now), {}};
}

std::string shape_line(const OnnxInput& input) {
  std::string text = input.type == 11  ? "float64 "
                     : input.type == 7 ? "int64 "
                                       : "float32 ";
  for (std::size_t d = 0; d < input.dims.size(); ++d)
    text += (d == 0 ? "" : " x ") +
            (input.dims[d] < 0 ? std::string("?") : std::to_string(input.dims[d]));
  return text;
}

std::vector<std::pair<std::string, std::string>> TorchFile::details() const {
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("graph", fmt::format("{} operations", operations_));
  for (const OnnxInput& input : inputs_)
    lines.emplace_back("input", fmt::format("{}  {}", input.name, shape_line(input)));
  const std::size_t count = layers_.size();
  for (std::size_t l = 0; l < count; ++l)
    lines.emplace_back(
        "layer",
        fmt::format("{}  {} -> {}{}  {}", layers_[l].weight.name, layers_[l].inputs,
                    layers_[l].outputs, layers_[l].bias.count > 0 ? "" : ", no intercepts",
                    l + 1 < count  ? activation_
                    : end_.empty() ? "logits"
                                   : end_));
  lines.emplace_back("below", stop_);
  return lines;
}

}  // namespace

ArchiveKind archive_kind(const ZipEntries& entries) {
  bool data = false, code = false;
  for (const auto& [name, entry] : entries) {
    data = data || name.ends_with("/data.pkl");
    code = code || name.ends_with("/constants.pkl");
  }
  if (!data) return ArchiveKind::other;
  return code ? ArchiveKind::torchscript : ArchiveKind::torch_pickle;
}

void refuse_archive(std::span<const std::uint8_t> bytes, const std::string& source) {
  const std::string scores =
      "score the data with the model's own library and give the scores: fmd audit --scores "
      "FILE";
  switch (archive_kind(read_zip(bytes, source))) {
    case ArchiveKind::torchscript:
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: this is a TorchScript model (PyTorch)", source),
                  "such a file can hold code that runs when it is opened: if you trust "
                  "where it comes from, give --allow-torchscript");
    case ArchiveKind::torch_pickle:
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: this is a pickle of PyTorch (a state_dict or a whole "
                              "module), which this version cannot open",
                              source),
                  "a pickle is code and is never executed here: save the model as "
                  "TorchScript, torch.jit.script(model).save(\"model.pt\"); or " +
                      scores);
    case ArchiveKind::other:
      break;
  }
  throw Error(ErrorKind::unsupported,
              fmt::format("{}: this is a zip archive (Keras or NumPy), which this version "
                          "cannot open",
                          source),
              "it may hold pickled code, which is never executed here; " + scores);
}

}  // namespace internal

ModelFormat torchscript_format(const BackendFiles* backends) {
  return {"torchscript",
          [](const std::filesystem::path&, std::span<const std::uint8_t> first) {
            return first.size() >= 4 && std::memcmp(first.data(), "PK\x03\x04", 4) == 0;
          },
          [backends](FileSet files) -> std::unique_ptr<ModelFile> {
            return std::make_unique<TorchFile>(std::move(files), backends);
          }};
}

ModelFormats formats_with_torchscript(const BackendFiles* backends) {
  ModelFormats formats = model_formats();
  formats.push_back(torchscript_format(backends));
  return formats;
}

}  // namespace fmd
