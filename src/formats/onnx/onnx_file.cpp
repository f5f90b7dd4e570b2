#include "formats/onnx/onnx_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <tuple>

#include "core/beside.h"
#include "core/check.h"
#include "core/index.h"
#include "fmd/core/file.h"
#include "fmd/core/safe_text.h"
#include "fmd/model/linear_head.h"
#include "formats/onnx/graph.h"
#include "formats/onnx/lower.h"
#include "formats/onnx/onnx_trees.h"
#include "formats/onnx/tail.h"
#include "formats/side_files.h"
#include "model/half.h"
#include "model/onnx_backbone.h"

namespace fmd::internal {
namespace {

const std::string kKeepTogether =
    "keep the model and its external data in one folder, and write OUT there too";

template <typename T>
void add_numbers(std::span<const std::uint8_t> bytes, std::vector<double>& into) {
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + i, sizeof(T));
    into.push_back(static_cast<double>(value));
  }
}

void add_halves(std::span<const std::uint8_t> bytes, std::vector<double>& into) {
  for (std::size_t i = 0; i + 2 <= bytes.size(); i += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, 2);
    into.push_back(static_cast<double>(from_half(bits)));
  }
}

// The stored form of a number; false where it does not fit.
bool put_number(double value, std::int32_t type, std::uint8_t* into) {
  if (type == kOnnxDouble) {
    std::memcpy(into, &value, 8);
    return std::isfinite(value);
  }
  const auto narrow = static_cast<float>(value);
  const std::uint16_t half = to_half(narrow);
  if (type == kOnnxHalf)
    std::memcpy(into, &half, 2);
  else
    std::memcpy(into, &narrow, 4);
  return std::isfinite(type == kOnnxHalf ? from_half(half) : narrow);
}

std::string shape_line(const OnnxValue& value) {
  std::string text;
  for (const Index dim : value.dims)
    text += (text.empty() ? "" : " x ") + (dim < 0 ? "?" : std::to_string(dim));
  return fmt::format("{} {}", onnx_type_name(value.type), text.empty() ? "()" : text);
}

class OnnxFile final : public ModelFile, public HasSideFiles {
 public:
  explicit OnnxFile(FileSet files)
      : ModelFile(std::move(files)), graph_(parse_onnx(bytes(), source())) {
    check_external();
    tail_ = find_tail(graph_);
    open_head();
    OnnxLower lower = lower_part(graph_, bytes(), tail_.layers.front().input);
    OnnxPart part{.source = source(),
                  .bytes = std::move(lower.bytes),
                  .output = tail_.layers.front().input,
                  .cols = tail_.layers.front().inputs,
                  .inputs = {},
                  .folder = path().parent_path(),
                  .outside = std::move(lower.outside)};
    for (const OnnxValue& value : lower.inputs)
      part.inputs.push_back({value.name, value.type, value.dims});
    model_.backbone = std::make_shared<const OnnxBackbone>(std::move(part));
  }

  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::string format() const override { return "ONNX"; }
  [[nodiscard]] Patch patch(const Model& changed) const override {
    return made_patch(changed, false);
  }
  [[nodiscard]] std::vector<std::string> side_files() const override {
    return {graph_.files.begin(), graph_.files.end()};
  }
  [[nodiscard]] Patch patch_copies(const Model& changed) const override {
    return made_patch(changed, true);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override;

 private:
  // A number of the head that is stored: which parameter, and with which factor.
  struct Stored {
    Index parameter = 0;
    double factor = 1;  // parameter = factor * stored number
  };

  // copies: numbers in external data are replaced there; otherwise they move into the
  // model.
  [[nodiscard]] Patch made_patch(const Model& changed, bool copies) const;
  [[nodiscard]] std::string source() const { return path().filename().string(); }

  [[noreturn]] void wrong(const std::string& what) const {
    throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source(), what),
                "the file is damaged or is not an ONNX model: export it again");
  }

  // Every file that the model names is an ordinary one beside it and has what it should.
  void check_external() {
    for (const std::string& name : graph_.files) {
      const auto file = beside(path(), name, ErrorKind::bad_model, kKeepTogether);
      std::error_code absent;
      const auto size = std::filesystem::file_size(file, absent);
      if (absent)
        throw Error(ErrorKind::bad_model,
                    fmt::format("{}: its external data \"{}\" cannot be read", source(),
                                safe_text(name)),
                    kKeepTogether);
      for (auto& [tensor, t] : graph_.tensors) {
        if (!t.external || t.location != name) continue;
        if (t.offset > size || (!t.whole && t.length > size - t.offset))
          wrong(fmt::format("tensor \"{}\" is at bytes {} to {} of {}, which has {}",
                            safe_text(tensor), t.offset, t.offset + t.length, name, size));
        if (t.whole) t.length = size - t.offset;
        if (t.whole && onnx_number_bytes(t.type) > 0)
          t.length = std::min(t.length, t.bytes());
        t.whole = false;
      }
    }
  }

  // Throws where another tensor has some of the same bytes.
  void require_own_bytes(const OnnxTensor& own) const {
    for (const auto& [name, t] : graph_.tensors) {
      const bool apart = t.offset >= own.offset + own.length ||
                         own.offset >= t.offset + t.length || t.length == 0;
      if (&t == &own || !t.external || t.location != own.location || apart) continue;
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: tensors \"{}\" and \"{}\" have the same bytes of {}: a "
                              "repair in place would change both",
                              source(), safe_text(own.name), safe_text(name), t.location),
                  "write OUT as a file in the folder of the model: -o repaired.onnx");
    }
  }

  // Of the file that an undo gave back, where there is one.
  [[nodiscard]] Bytes external_bytes(const OnnxTensor& t) const {
    if (t.length != t.bytes())
      wrong(fmt::format("tensor \"{}\" has {} numbers by its shape, but {} bytes",
                        safe_text(t.name), t.elements(), t.length));
    Bytes bytes(t.length);
    const NamedBytes known = files();
    if (const auto found = known.find(t.location); found != known.end()) {
      const auto part = found->second.subspan(t.offset, t.length);
      std::copy_n(part.begin(), part.size(), bytes.begin());
    } else {
      InputFile::open(path().parent_path() / t.location)
          ->read(static_cast<Index>(t.offset), bytes);
    }
    return bytes;
  }

  [[nodiscard]] std::vector<double> tensor_values(const OnnxTensor& t) const {
    std::vector<double> values;
    const auto add = [&](std::span<const std::uint8_t> part) {
      if (t.type == kOnnxFloat) add_numbers<float>(part, values);
      if (t.type == kOnnxDouble) add_numbers<double>(part, values);
      if (t.type == kOnnxHalf) add_halves(part, values);
    };
    if (t.external) {
      add(external_bytes(t));
    } else {
      if (t.raw.size() > 0) add(bytes().subspan(t.raw.begin, t.raw.size()));
      for (const FileSpan& part : t.listed) add(bytes().subspan(part.begin, part.size()));
    }
    if (std::ssize(values) != t.elements())
      wrong(fmt::format("tensor \"{}\" has {} numbers by its shape, but {} are stored",
                        safe_text(t.name), t.elements(), values.size()));
    return values;
  }

  [[nodiscard]] std::vector<double> values(const OnnxNumbers& numbers) const {
    std::vector<double> all;
    if (numbers.tensor != nullptr) all = tensor_values(*numbers.tensor);
    if (numbers.attribute != nullptr)
      for (const FileSpan& part : numbers.attribute->floats)
        add_numbers<float>(bytes().subspan(part.begin, part.size()), all);
    for (const double value : all)
      if (!std::isfinite(value)) wrong("a number of the last layer is not finite");
    return all;
  }

  // Which parameter of the layer each stored weight (or intercept) is.
  [[nodiscard]] std::vector<Stored> places(const OnnxLayer& layer, const LinearHead& head,
                                           Index start, bool weights) const {
    std::vector<Stored> all;
    const Index rows = layer.mirrored ? 2 : layer.outputs;
    const auto parameter = [&](Index row, Index column) -> Stored {
      const double sign = layer.mirrored && row == 0 ? -1 : 1;
      const Index output = layer.mirrored ? 0 : row;
      if (weights) return {start + head.weight(output, column), sign * layer.factor};
      return {start + head.intercept(output), sign * layer.bias_factor};
    };
    const Index columns = weights ? layer.inputs : 1;
    if (layer.by_input && weights) {
      for (Index column = 0; column < columns; ++column)
        for (Index row = 0; row < rows; ++row) all.push_back(parameter(row, column));
    } else {
      for (Index row = 0; row < rows; ++row)
        for (Index column = 0; column < columns; ++column)
          all.push_back(parameter(row, column));
    }
    return all;
  }

  // A LinearClassifier of two classes with rows that are not each other's opposite is a
  // classifier for each class.
  void check_mirror() {
    OnnxLayer& layer = tail_.layers.front();
    if (!layer.mirrored) return;
    const auto opposite = [](const std::vector<double>& v) {
      const std::size_t half = v.size() / 2;
      for (std::size_t i = 0; i < half; ++i)
        if (v[i] != -v[half + i]) return false;
      return true;
    };
    if (opposite(values(layer.weight)) && opposite(values(layer.bias))) return;
    layer.mirrored = false;
    layer.outputs = 2;
    tail_.link = Link::one_vs_rest;
  }

  void open_head() {
    check_mirror();
    if (tail_.one != nullptr && (onnx_number_bytes(tail_.one->type) == 0 ||
                                 tensor_values(*tail_.one) != std::vector<double>{1}))
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: its two outputs do not add up to 1", source()),
                  "export the model with one probability for each class");
    std::vector<Index> widths = {tail_.layers.front().inputs};
    for (const OnnxLayer& layer : tail_.layers) widths.push_back(layer.outputs);
    if (tail_.layers.size() == 1) {
      model_.head = std::make_shared<const LinearHead>(
          widths[0], widths[1],
          LinearHeadOptions{.intercept = tail_.layers[0].bias.present(),
                            .output_of = {},
                            .link = tail_.link});
    } else {
      model_.head = make_head(std::move(widths), tail_.activation);
    }
    model_.theta = Vector::Zero(model_.head->parameters());
    const std::vector<HeadLayer> own = layers_of(*model_.head);
    for (std::size_t l = 0; l < own.size(); ++l) {
      const OnnxLayer& layer = tail_.layers[l];
      for (const bool weights : {true, false}) {
        const OnnxNumbers& from = weights ? layer.weight : layer.bias;
        if (!from.present()) continue;
        const std::vector<Stored> where = places(layer, own[l].head, own[l].start, weights);
        const std::vector<double> stored = values(from);
        if (stored.size() != where.size()) wrong("the last layer has too few numbers");
        for (std::size_t i = 0; i < stored.size(); ++i)
          model_.theta[where[i].parameter] = where[i].factor * stored[i];
      }
    }
    const Index classes = std::max<Index>(2, model_.head->outputs());
    model_.task.classes = tail_.classes;
    if (std::ssize(model_.task.classes) != classes) {
      model_.task.classes.clear();
      for (Index k = 0; k < classes; ++k) model_.task.classes.push_back(std::to_string(k));
    }
  }

  // The stored form of the parameters, in the type of the file. A parameter that stays
  // keeps its stored number, to the bit.
  [[nodiscard]] Bytes encoded(const std::vector<Stored>& where,
                              const std::vector<double>& stored, const Vector& theta,
                              std::int32_t type) const {
    const std::size_t each = onnx_number_bytes(type);
    Bytes all(where.size() * each);
    for (std::size_t i = 0; i < where.size(); ++i) {
      const Index p = where[i].parameter;
      const double value =
          theta[p] == model_.theta[p] ? stored[i] : theta[p] / where[i].factor;
      if (!put_number(value, type, all.data() + i * each))
        throw Error(ErrorKind::bad_value,
                    fmt::format("{}: a parameter of {} does not fit into the file",
                                source(), value));
    }
    return all;
  }

  // One range from the first to the last byte of the spans, with the numbers in it.
  void put_spans(const std::vector<FileSpan>& spans, const Bytes& numbers,
                 Patch& patch) const {
    if (spans.empty()) return;
    const std::size_t begin = spans.front().begin, end = spans.back().end;
    const auto old = bytes().subspan(begin, end - begin);
    Bytes now(old.begin(), old.end());
    std::size_t at_number = 0;
    for (const FileSpan& span : spans) {
      std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(at_number), span.size(),
                  now.begin() + static_cast<std::ptrdiff_t>(span.begin - begin));
      at_number += span.size();
    }
    for (FilePatch& range : difference("", old, now)) {
      range.offset += static_cast<Index>(begin);
      patch.ranges.push_back(std::move(range));
    }
  }

  OnnxGraph graph_;
  OnnxTail tail_;  // points into the graph
  Model model_;
};

Patch OnnxFile::made_patch(const Model& changed, bool copies) const {
  require_size("model", "theta", changed.theta.size(), model_.theta.size());
  Patch patch;
  std::vector<OnnxInline> moved;
  const std::vector<HeadLayer> own = layers_of(*model_.head);
  for (std::size_t l = 0; l < own.size(); ++l) {
    const OnnxLayer& layer = tail_.layers[l];
    for (const bool weights : {true, false}) {
      const OnnxNumbers& to = weights ? layer.weight : layer.bias;
      if (!to.present()) continue;
      const std::vector<Stored> where = places(layer, own[l].head, own[l].start, weights);
      const std::int32_t type = to.tensor != nullptr ? to.tensor->type : kOnnxFloat;
      const std::vector<double> stored = values(to);
      Bytes numbers = encoded(where, stored, changed.theta, type);
      if (to.attribute != nullptr) {
        put_spans(to.attribute->floats, numbers, patch);
      } else if (!to.tensor->external) {
        put_spans(to.tensor->raw.size() > 0 ? std::vector<FileSpan>{to.tensor->raw}
                                            : to.tensor->listed,
                  numbers, patch);
      } else if (copies) {
        require_own_bytes(*to.tensor);
        for (FilePatch& range :
             difference(to.tensor->location, external_bytes(*to.tensor), numbers)) {
          range.offset += static_cast<Index>(to.tensor->offset);
          patch.ranges.push_back(std::move(range));
        }
      } else if (numbers != encoded(where, stored, model_.theta, type)) {
        moved.push_back({to.tensor, std::move(numbers)});
      }
    }
  }
  std::sort(patch.ranges.begin(), patch.ranges.end(),
            [](const FilePatch& a, const FilePatch& b) {
              return std::tie(a.name, a.offset) < std::tie(b.name, b.offset);
            });
  if (moved.empty()) return patch;
  const NamedBytes original = {{"", bytes()}};
  std::map<std::string, Bytes> in_place = apply_patch(original, patch);
  const Bytes now = in_place.contains("") ? std::move(in_place.at(""))
                                          : Bytes(bytes().begin(), bytes().end());
  return {difference("", bytes(), with_inline(graph_, now, std::move(moved))), {}};
}

std::vector<std::pair<std::string, std::string>> OnnxFile::details() const {
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&](const char* key, std::string text) {
    lines.emplace_back(key, std::move(text));
  };
  const std::string producer =
      graph_.producer.empty() ? "" : ", made by " + graph_.producer;
  add("graph", fmt::format("opset {}, {} operations{}", graph_.opset, graph_.nodes.size(),
                           producer));
  for (const OnnxValue& value : graph_.inputs)
    add("input", fmt::format("{}  {}", value.name, shape_line(value)));
  for (const OnnxValue& value : graph_.outputs)
    add("output", fmt::format("{}  {}", value.name, shape_line(value)));
  for (const std::string& name : graph_.files) add("file", name);
  const std::size_t count = tail_.layers.size();
  for (std::size_t l = 0; l < count; ++l) {
    const OnnxLayer& layer = tail_.layers[l];
    add("layer", fmt::format("{}  {} -> {}{}  {}", layer.node, layer.inputs, layer.outputs,
                             layer.bias.present() ? "" : ", no intercepts",
                             l + 1 == count ? tail_.end.empty() ? "logits" : tail_.end
                                            : to_string(tail_.activation)));
  }
  add("below", tail_.stop);
  return lines;
}

}  // namespace

bool seems_onnx(std::span<const std::uint8_t> t) {
  // Protobuf of a ModelProto: field 1 (ir_version) is a small number, followed by a known
  // field.
  constexpr std::array<std::uint8_t, 9> kNext = {0x12, 0x1a, 0x22, 0x28, 0x32,
                                                 0x3a, 0x42, 0x72, 0xca};
  // A safetensors file begins with a length of eight bytes, of which the last are 0.
  if (t.size() > 8 && t[8] == '{' && t[5] == 0 && t[6] == 0 && t[7] == 0) return false;
  return t.size() > 16 && t[0] == 0x08 && t[1] > 0 && t[1] < 32 &&
         std::find(kNext.begin(), kNext.end(), t[2]) != kNext.end();
}

std::unique_ptr<ModelFile> open_onnx(FileSet files) {
  OnnxGraph graph = parse_onnx(files.bytes(), files.source());
  if (has_onnx_trees(graph)) return open_onnx_trees(std::move(files), std::move(graph));
  return std::make_unique<OnnxFile>(std::move(files));
}

}  // namespace fmd::internal
