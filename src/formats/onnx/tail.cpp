#include "formats/onnx/tail.h"

#include <algorithm>
#include <optional>

#include "core/check.h"
#include "fmd/core/safe_text.h"

namespace fmd::internal {
namespace {

constexpr Index kMostParameters = Index{1} << 24;  // of the layers below the last one

// Why a tensor is not the output of a dense layer.
struct NoLayer {
  std::string reason, hint;
};

class TailFinder {
 public:
  explicit TailFinder(const OnnxGraph& graph) : graph_(graph) {
    for (const OnnxNode& node : graph.nodes) {
      for (const std::string& name : node.outputs) giver_[name] = &node;
      for (const std::string& name : node.inputs) ++uses_[name];
      for (const std::string& name : node.inner) ++uses_[name];
    }
  }

  [[nodiscard]] OnnxTail find() const {
    std::optional<NoLayer> first;
    for (const OnnxValue& output : graph_.outputs) {
      try {
        return from(output.name);
      } catch (const NoLayer& no) {
        if (!first) first = no;
      }
    }
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: {}", graph_.source,
                            first ? first->reason : "the model has no output"),
                first ? first->hint : "export it again");
  }

 private:
  [[nodiscard]] const OnnxNode* giver(const std::string& name) const {
    const auto found = giver_.find(name);
    return found == giver_.end() ? nullptr : found->second;
  }
  [[nodiscard]] int uses(const std::string& name) const {
    const auto found = uses_.find(name);
    return found == uses_.end() ? 0 : found->second;
  }
  static bool is(const OnnxNode* node, std::initializer_list<const char*> ops) {
    return node != nullptr && (node->domain.empty() || node->domain == "ai.onnx") &&
           std::any_of(ops.begin(), ops.end(),
                       [&](const char* op) { return node->op == op; });
  }
  static bool is_ml(const OnnxNode* node, const char* op) {
    return node != nullptr && node->domain == "ai.onnx.ml" && node->op == op;
  }

  // The name below operations that change no number. reshaped: is set where one of them
  // keeps the numbers of a row together only if there is one.
  [[nodiscard]] std::string below_plain(std::string name, bool at_end,
                                        bool* reshaped = nullptr) const {
    for (const OnnxNode* node = giver(name); node != nullptr && !node->inputs.empty();
         node = giver(name)) {
      const OnnxAttribute* axis = node->find("axis");
      const bool column = is(node, {"Gather"}) && axis != nullptr && axis->i == 1;
      const bool shape =
          reshaped != nullptr && (is(node, {"Reshape", "Unsqueeze"}) || column);
      const bool plain =
          is(node, {"Identity", "Dropout"}) || shape ||
          (at_end && (is(node, {"Squeeze", "Flatten", "Cast"}) || is_ml(node, "ZipMap")));
      if (!plain || node->outputs.front() != name) break;
      if (shape) *reshaped = true;
      name = node->inputs.front();
    }
    return name;
  }

  // [1 - p, p] as scikit-learn's exporter writes two classes: p. Otherwise the name itself.
  [[nodiscard]] std::string below_both_classes(const std::string& name,
                                               OnnxTail& tail) const {
    const OnnxNode* both = giver(name);
    if (!is(both, {"Concat"}) || both->inputs.size() != 2) return name;
    const OnnxNode* other = giver(both->inputs[0]);
    if (!is(other, {"Sub"}) || other->inputs.size() != 2 ||
        other->inputs[1] != both->inputs[1])
      return name;
    const auto one = graph_.tensors.find(other->inputs[0]);
    if (one == graph_.tensors.end() || one->second.elements() != 1) return name;
    tail.one = &one->second;
    return both->inputs[1];
  }

  [[nodiscard]] OnnxTail from(const std::string& output) const {
    OnnxTail tail;
    tail.output = output;
    bool reshaped = false;
    std::string name = below_plain(output, true, &reshaped);
    const std::string single = below_both_classes(name, tail);
    if (single != name) name = below_plain(single, true);
    const OnnxNode* node = giver(name);
    if (is_ml(node, "Normalizer") && !node->inputs.empty()) {
      tail.end = "Normalizer";
      name = below_plain(node->inputs.front(), true);
      node = giver(name);
    }
    if (is_ml(node, "LinearClassifier") && !reshaped) {
      classifier(*node, tail);
      return tail;
    }
    if (tail.end == "Normalizer") no_dense(node);
    bool probabilities = false;
    if (is(node, {"Softmax", "LogSoftmax", "Sigmoid"}) && !node->inputs.empty()) {
      const OnnxAttribute* axis = node->find("axis");
      if (axis != nullptr && axis->i != 1 && axis->i != -1)
        throw NoLayer{fmt::format("a {} over axis {}", node->op, axis->i),
                      "classes must be the last axis of the output"};
      tail.end = node->op;
      probabilities = true;
      name = below_plain(node->inputs.front(), true, &reshaped);
    }
    if (tail.one != nullptr && tail.end != "Sigmoid") no_dense(giver(output));
    tail.layers = {layer(name)};
    const Index outputs = tail.layers[0].outputs;
    if (reshaped && outputs > 1)
      throw NoLayer{
          fmt::format("the {} numbers of a row are reshaped after its last layer", outputs),
          "export the model with an output of rows x classes"};
    if (tail.end == "Sigmoid" && outputs > 1)
      throw NoLayer{fmt::format("a sigmoid for each of {} outputs: these are several "
                                "answers, not the classes of one",
                                outputs),
                    "export a model with one answer"};
    if (probabilities && tail.end != "Sigmoid" && outputs == 1)
      throw NoLayer{"a softmax over one output is always 1", "export the model again"};
    tail.link = outputs == 1 ? Link::sigmoid : Link::softmax;
    lower_layers(tail);
    return tail;
  }

  // Layers below the last one, as far as a head of ours can hold them.
  void lower_layers(OnnxTail& tail) const {
    Index parameters = 0;
    while (true) {
      const OnnxLayer& top = tail.layers.front();
      if (!top.bias.present()) {
        tail.stop = "a layer without intercepts cannot have layers below it";
        return;
      }
      const std::string name = below_plain(top.input, false);
      const OnnxNode* node = giver(name);
      if (node == nullptr) {
        tail.stop = "the inputs of the model";
        return;
      }
      std::optional<Activation> activation;
      if (is(node, {"Relu"})) activation = Activation::relu;
      if (is(node, {"Tanh"})) activation = Activation::tanh;
      const OnnxAttribute* rough = node->find("approximate");
      if (is(node, {"Gelu"}) && (rough == nullptr || rough->s == "none"))
        activation = Activation::gelu;
      tail.stop = safe_text(node->full_op());
      if (!activation || node->inputs.empty() || uses(name) != 1) return;
      if (tail.layers.size() > 1 && *activation != tail.activation) {
        tail.stop = "another activation: " + tail.stop;
        return;
      }
      try {
        OnnxLayer next = layer(below_plain(node->inputs.front(), false));
        parameters += next.outputs * (next.inputs + 1);
        tail.stop = "a layer of more than 16 million numbers";
        if (parameters > kMostParameters) return;
        tail.stop = "a layer without intercepts";
        if (!next.bias.present() || uses(next.output) != 1) return;
        if (next.outputs != top.inputs) return;
        tail.activation = *activation;
        tail.layers.insert(tail.layers.begin(), std::move(next));
      } catch (const NoLayer&) {
        return;
      }
    }
  }

  // Also below what brings whole numbers back to the scale of the outputs.
  [[nodiscard]] bool is_quantised(const OnnxNode* node) const {
    for (int step = 0; node != nullptr && step < 8; ++step) {
      if (node->op.find("uantize") != std::string::npos ||
          node->op.starts_with("QLinear") || node->op == "QGemm" ||
          node->op.find("Integer") != std::string::npos || node->op == "MatMulNBits")
        return true;
      if (!is(node, {"Add", "Mul", "Cast", "Reshape", "Identity"}) || node->inputs.empty())
        return false;
      const OnnxNode* below = giver(node->inputs[0]);
      if (below == nullptr && node->inputs.size() > 1) below = giver(node->inputs[1]);
      node = below;
    }
    return false;
  }

  [[noreturn]] void no_dense(const OnnxNode* node) const {
    const std::string what = node == nullptr ? "an input of the model"
                                             : "operation " + safe_text(node->full_op());
    if (is_quantised(node))
      throw NoLayer{fmt::format("its last layer is quantised ({})", what),
                    "numbers of 8 bits cannot hold a repair: repair the float model, then "
                    "quantise it again"};
    throw NoLayer{fmt::format("it does not end in a dense layer (Gemm, or MatMul and Add): "
                              "its end is {}",
                              what),
                  "a repair changes the last dense layer; give the scores of this model: "
                  "fmd audit --scores FILE"};
  }

  // Numbers behind a name: an initialiser, a Constant, either through Identity, and through
  // Transpose where `flipped` is given.
  [[nodiscard]] const OnnxTensor* numbers(std::string name, bool* flipped) const {
    while (true) {
      if (const auto found = graph_.tensors.find(name); found != graph_.tensors.end()) {
        require_usable(found->second, name);
        return &found->second;
      }
      const OnnxNode* node = giver(name);
      if (node == nullptr) return nullptr;
      if (is(node, {"DequantizeLinear", "DequantizeBFP"})) no_dense(node);
      if (uses(name) > 1) return nullptr;
      if (is(node, {"Constant"})) {
        const OnnxAttribute* value = node->find("value");
        if (value == nullptr || value->tensors.size() != 1) return nullptr;
        require_usable(value->tensors[0], name);
        return &value->tensors[0];
      }
      if (node->inputs.size() != 1) return nullptr;
      if (is(node, {"Transpose"}) && flipped != nullptr) {
        const OnnxAttribute* order = node->find("perm");
        if (order != nullptr && order->ints != std::vector<std::int64_t>{1, 0})
          return nullptr;
        *flipped = !*flipped;
      } else if (!is(node, {"Identity"})) {
        return nullptr;
      }
      name = node->inputs[0];
    }
  }

  void require_usable(const OnnxTensor& tensor, const std::string& name) const {
    if (onnx_number_bytes(tensor.type) == 0)
      throw NoLayer{fmt::format("the numbers of its last layer (\"{}\") are {}",
                                safe_text(name), onnx_type_name(tensor.type)),
                    "a repair needs float16, float32 or float64: export the model with "
                    "these"};
    if (tensor.type == kOnnxHalf && !tensor.external && tensor.raw.size() == 0)
      throw NoLayer{fmt::format("the float16 numbers of its last layer (\"{}\") stand in a "
                                "list of whole numbers of any length",
                                safe_text(name)),
                    "store them as raw data: onnx.numpy_helper.from_array does"};
    if (uses(name) > 1)
      throw NoLayer{
          fmt::format("the numbers of its last layer (\"{}\") are used at another "
                      "place too",
                      safe_text(name)),
          "a repair would change both: export the model with weights of its own"};
  }

  [[nodiscard]] OnnxLayer layer(const std::string& name) const {
    const OnnxNode* node = giver(name);
    OnnxLayer made;
    if (is(node, {"Gemm"})) {
      made = gemm(*node);
    } else if (is(node, {"MatMul"})) {
      made = matmul(*node);
    } else if (is(node, {"Add"}) && node->inputs.size() == 2) {
      made = matmul_and_add(*node);
    } else {
      no_dense(node);
    }
    made.output = name;
    if (made.inputs < 1 || made.outputs < 1)
      throw NoLayer{"its last layer has no numbers", "export the model again"};
    return made;
  }

  void take_weight(OnnxLayer& made, const OnnxNode& node, const std::string& weight,
                   bool by_output) const {
    const OnnxTensor* W = numbers(weight, &by_output);
    if (W == nullptr || W->dims.size() != 2)
      throw NoLayer{fmt::format("the weights of its last layer ({}) are computed, not "
                                "stored",
                                safe_text(node.full_op())),
                    "export the model with constant folding"};
    made.weight.tensor = W;
    made.by_input = !by_output;
    made.outputs = W->dims[by_output ? 0 : 1];
    made.inputs = W->dims[by_output ? 1 : 0];
    made.node = node.name.empty() ? node.op : node.name;
  }

  // An intercept for each output.
  [[nodiscard]] bool take_bias(OnnxLayer& made, const std::string& bias) const {
    const OnnxTensor* b = numbers(bias, nullptr);
    if (b == nullptr || b->elements() != made.outputs) return false;
    if (!b->dims.empty() && b->dims.back() != made.outputs) return false;
    made.bias.tensor = b;
    return true;
  }

  [[nodiscard]] OnnxLayer gemm(const OnnxNode& node) const {
    const auto flag = [&](const char* name) {
      const OnnxAttribute* a = node.find(name);
      return a != nullptr && a->i != 0;
    };
    const auto factor = [&](const char* name) {
      const OnnxAttribute* a = node.find(name);
      return a == nullptr ? 1.0 : static_cast<double>(a->f);
    };
    if (node.inputs.size() < 2) throw NoLayer{"a Gemm without weights", "export it again"};
    OnnxLayer made;
    take_weight(made, node, node.inputs[1], flag("transB"));
    made.input = node.inputs[0];
    made.factor = factor("alpha");
    made.bias_factor = factor("beta");
    const bool has_bias = node.inputs.size() > 2 && !node.inputs[2].empty();
    if (flag("transA") || made.factor == 0 || (has_bias && made.bias_factor == 0))
      throw NoLayer{"its last layer (Gemm) has transA, or alpha or beta 0",
                    "export the model again"};
    if (has_bias && !take_bias(made, node.inputs[2]))
      throw NoLayer{"the intercepts of its last layer (Gemm) are not one for each output",
                    "export the model again"};
    return made;
  }

  [[nodiscard]] OnnxLayer matmul(const OnnxNode& node) const {
    if (node.inputs.size() != 2)
      throw NoLayer{"a MatMul without weights", "export it again"};
    OnnxLayer made;
    take_weight(made, node, node.inputs[1], false);
    made.input = node.inputs[0];
    return made;
  }

  [[nodiscard]] OnnxLayer matmul_and_add(const OnnxNode& node) const {
    for (const std::size_t side : {0U, 1U}) {
      const std::string product = below_plain(node.inputs[side], false);
      const OnnxNode* below = giver(product);
      if (!is(below, {"MatMul"}) || uses(product) != 1) continue;
      OnnxLayer made = matmul(*below);
      if (take_bias(made, node.inputs[1 - side])) return made;
    }
    no_dense(&node);
  }

  // The linear classifier of scikit-learn's exporter.
  void classifier(const OnnxNode& node, OnnxTail& tail) const {
    const OnnxAttribute* weights = node.find("coefficients");
    const OnnxAttribute* intercepts = node.find("intercepts");
    const OnnxAttribute* after = node.find("post_transform");
    const auto count = [](const OnnxAttribute* a) {
      std::size_t bytes = 0;
      if (a != nullptr)
        for (const FileSpan& part : a->floats) bytes += part.size();
      return static_cast<Index>(bytes / sizeof(float));
    };
    const Index rows = count(intercepts), all = count(weights);
    if (rows < 1 || all < rows || all % rows != 0 || node.inputs.empty())
      throw NoLayer{"a LinearClassifier without coefficients and intercepts",
                    "export the model again"};
    const OnnxAttribute* names = node.find("classlabels_strings");
    const OnnxAttribute* whole = node.find("classlabels_ints");
    if (names != nullptr) tail.classes = names->strings;
    if (whole != nullptr && tail.classes.empty())
      for (const std::int64_t value : whole->ints)
        tail.classes.push_back(std::to_string(value));
    const std::string link = after == nullptr ? "NONE" : after->s;
    if (link != "LOGISTIC" && link != "SOFTMAX")
      throw NoLayer{fmt::format("its LinearClassifier gives scores, not probabilities "
                                "(post_transform {})",
                                safe_text(link)),
                    "use a classifier with probabilities, such as LogisticRegression"};
    OnnxLayer made;
    made.inputs = all / rows;
    made.outputs = rows;
    made.weight.attribute = weights;
    made.bias.attribute = intercepts;
    made.input = node.inputs[0];
    made.output = node.outputs.empty() ? "" : node.outputs.back();
    made.node = node.name.empty() ? node.op : node.name;
    tail.link = link == "SOFTMAX" ? Link::softmax : Link::one_vs_rest;
    if (link == "LOGISTIC" && rows == 1) tail.link = Link::sigmoid;
    if (link == "LOGISTIC" && rows == 2 && std::ssize(tail.classes) == 2) {
      made.mirrored = true;  // parse() checks it on the numbers
      made.outputs = 1;
      tail.link = Link::sigmoid;
    }
    tail.end = tail.end.empty() ? link : link + ", " + tail.end;
    tail.stop = "a LinearClassifier is one layer";
    tail.layers = {made};
  }

  const OnnxGraph& graph_;
  std::map<std::string, const OnnxNode*> giver_;
  std::map<std::string, int> uses_;
};

}  // namespace

OnnxTail find_tail(const OnnxGraph& graph) { return TailFinder(graph).find(); }

}  // namespace fmd::internal
