// Opens TorchScript models, finds the dense layers at their end and runs what is below.
#include "script.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/profiling_graph_executor_impl.h>
#include <torch/script.h>
#include <torch/version.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "guarded.h"

namespace fmd::torch_plugin {
namespace {

namespace jit = ::torch::jit;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

constexpr std::int64_t kMostParameters = std::int64_t{1} << 24;  // of layers below the last
constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kDouble = 11;

c10::Symbol symbol(const char* name) { return c10::Symbol::fromQualString(name); }
bool is(const jit::Node* node, const char* name) { return node->kind() == symbol(name); }
bool is_any(const jit::Node* node, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return is(node, name); });
}

template <typename Work>
void each_node(jit::Block* block, const Work& work) {
  std::vector<jit::Node*> nodes(block->nodes().begin(), block->nodes().end());
  for (jit::Node* node : nodes) {
    for (jit::Block* inner : node->blocks()) each_node(inner, work);
    work(node);
  }
}

// The attributes from the model down to a value; none where it comes from elsewhere.
std::optional<Names> path_of(const jit::Value* value, const jit::Value* self) {
  Names path;
  while (value != self) {
    const jit::Node* node = value->node();
    if (!is(node, "prim::GetAttr")) return {};
    path.insert(path.begin(), node->s(c10::attr::name));
    value = node->input();
  }
  return path;
}

struct Layer {
  Names weight, bias;
  std::int64_t inputs = 0, outputs = 0;
  jit::Value* input = nullptr;
};

// Why a model cannot be repaired.
struct NoTail : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class TailFinder {
 public:
  TailFinder(jit::Graph& graph, const jit::Module& module)
      : graph_(graph), module_(module), self_(graph.inputs().at(0)) {}

  // The JSON of FmdTorch::tail; the graph then gives the input of the lowest layer.
  std::string find() {
    if (graph_.outputs().size() != 1 ||
        graph_.outputs()[0]->type()->kind() != c10::TypeKind::TensorType)
      throw NoTail("its forward() does not give one tensor");
    jit::Value* value = below_plain(graph_.outputs()[0], true);
    std::string end;
    if (is_any(value->node(), {"aten::softmax", "aten::log_softmax", "aten::sigmoid"})) {
      require_last_axis(value->node());
      end = value->node()->kind().toUnqualString();
      value = below_plain(value->node()->input(0), true);
    }
    std::vector<Layer> layers = {layer(value)};
    require_link(end, layers[0].outputs);
    std::string activation = "relu";
    const std::string stop = lower_layers(layers, activation);
    Json json = {{"end", end}, {"activation", activation}, {"stop", stop}};
    json["operations"] = std::distance(graph_.nodes().begin(), graph_.nodes().end());
    for (const Layer& l : layers)
      json["layers"].push_back({{"weight", l.weight},
                                {"bias", l.bias},
                                {"inputs", l.inputs},
                                {"outputs", l.outputs}});
    json["inputs"] = inputs();
    graph_.eraseOutput(0);
    graph_.registerOutput(layers.front().input);
    jit::EliminateDeadCode(graph_.block());
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  // Below operations that change no number.
  jit::Value* below_plain(jit::Value* value, bool at_end) const {
    while (!value->node()->inputs().empty()) {
      const jit::Node* node = value->node();
      const bool plain =
          is_any(node, {"aten::dropout", "aten::feature_dropout", "aten::detach",
                        "aten::contiguous"}) ||
          (at_end && is_any(node, {"aten::squeeze", "aten::flatten", "aten::to"}));
      if (!plain) break;
      value = node->input(0);
    }
    return value;
  }

  static void require_last_axis(const jit::Node* node) {
    if (is(node, "aten::sigmoid")) return;
    const auto axis = jit::constant_as<std::int64_t>(node->input(1));
    if (!axis || (*axis != 1 && *axis != -1))
      throw NoTail("the classes of its softmax are not the last axis");
  }

  static void require_link(const std::string& end, std::int64_t outputs) {
    if (end == "sigmoid" && outputs > 1)
      throw NoTail("a sigmoid for each of " + std::to_string(outputs) +
                   " outputs: these are several answers, not the classes of one");
    if (end.ends_with("softmax") && outputs == 1)
      throw NoTail("a softmax over one output is always 1");
  }

  // A tensor that is an attribute, used once.
  at::Tensor attribute(jit::Value* value, Names& path) const {
    if (is(value->node(), "prim::Constant"))
      throw NoTail(
          "the numbers of its last layer are constants: save it before torch.jit.freeze()");
    const auto found = path_of(value, self_);
    if (!found || found->empty())
      throw NoTail("the weights of its last layer are computed, not stored");
    if (uses(*found) != 1)
      throw NoTail("the numbers of its last layer are used at another place too");
    path = *found;
    c10::IValue at = module_._ivalue();
    for (const std::string& name : path) at = at.toObject()->getAttr(name);
    return at.toTensor();
  }

  std::size_t uses(const Names& path) const {
    std::size_t count = 0;
    each_node(graph_.block(), [&](const jit::Node* node) {
      if (is(node, "prim::GetAttr") && path_of(node->output(), self_) == path)
        count += node->output()->uses().size();
    });
    return count;
  }

  Layer layer(jit::Value* value) const {
    const jit::Node* node = value->node();
    Layer made;
    jit::Value *weight = nullptr, *bias = nullptr;
    if (is(node, "aten::linear")) {
      made.input = node->input(0);
      weight = node->input(1);
      bias = node->input(2);
    } else if (is(node, "aten::addmm") && is(node->input(2)->node(), "aten::t")) {
      made.input = node->input(1);
      weight = node->input(2)->node()->input(0);
      bias = node->input(0);
    } else {
      throw NoTail(std::string("it does not end in a dense layer (linear): its end is ") +
                   (node->kind() == c10::prim::Param ? "an input of the model"
                                                     : node->kind().toQualString()));
    }
    const at::Tensor W = attribute(weight, made.weight);
    if (W.dim() != 2 || (W.scalar_type() != at::kFloat && W.scalar_type() != at::kDouble))
      throw NoTail("the weights of its last layer are not float32 or float64 numbers");
    made.outputs = W.size(0);
    made.inputs = W.size(1);
    if (bias->type()->kind() == c10::TypeKind::NoneType) return made;
    const at::Tensor b = attribute(bias, made.bias);
    if (b.numel() != made.outputs || b.scalar_type() != W.scalar_type())
      throw NoTail("the intercepts of its last layer are not one for each output");
    return made;
  }

  // Layers below the last one, as far as a head of ours can hold them; returns why no
  // further one.
  std::string lower_layers(std::vector<Layer>& layers, std::string& activation) const {
    std::int64_t parameters = 0;
    while (true) {
      const Layer& top = layers.front();
      if (top.bias.empty()) return "a layer without intercepts cannot have layers below it";
      jit::Value* value = below_plain(top.input, false);
      const jit::Node* node = value->node();
      if (node->kind() == c10::prim::Param) return "the inputs of the model";
      const std::string name = node->kind().toUnqualString();
      const std::string kind = node->kind().toQualString();
      const bool known = is_any(node, {"aten::relu", "aten::relu_", "aten::tanh"}) ||
                         (is(node, "aten::gelu") &&
                          jit::constant_as<std::string>(node->input(1)) == "none");
      if (!known || value->uses().size() != 1) return kind;
      const std::string own = name == "relu_" ? "relu" : name;
      if (layers.size() > 1 && own != activation) return "another activation: " + kind;
      try {
        Layer next = layer(below_plain(node->input(0), false));
        parameters += next.outputs * (next.inputs + 1);
        if (parameters > kMostParameters) return "a layer of more than 16 million numbers";
        if (next.bias.empty()) return "a layer without intercepts";
        if (next.outputs != top.inputs ||
            below_plain(node->input(0), false)->uses().size() != 1)
          return kind;
        activation = own;
        layers.insert(layers.begin(), std::move(next));
      } catch (const NoTail&) {
        return kind;
      }
    }
  }

  // What the first operation that reads an input says of its shape.
  Json inputs() const {
    Json all = Json::array();
    for (std::size_t i = 1; i < graph_.inputs().size(); ++i) {
      jit::Value* input = graph_.inputs()[i];
      Json one = {{"name", argument_name(i)}, {"type", kFloat}, {"dims", {-1, -1}}};
      each_node(graph_.block(), [&](const jit::Node* node) {
        if (!node->inputs().empty() && first_source(node->input(0)) == input)
          read_shape(node, one);
        if (is(node, "aten::embedding") && first_source(node->input(1)) == input)
          one["type"] = kInt64;
      });
      all.push_back(one);
    }
    return all;
  }

  [[nodiscard]] std::string argument_name(std::size_t i) const {
    const auto& arguments =
        module_.get_method("forward").function().getSchema().arguments();
    return i < arguments.size() ? arguments[i].name() : "";
  }

  static const jit::Value* first_source(const jit::Value* value) {
    while (is(value->node(), "aten::to") || is(value->node(), "aten::contiguous"))
      value = value->node()->input(0);
    return value;
  }

  void read_shape(const jit::Node* node, Json& one) const {
    if (!is_any(node, {"aten::linear", "aten::conv2d", "aten::_convolution"})) return;
    const auto path = path_of(node->input(1), self_);
    if (!path) return;
    c10::IValue at = module_._ivalue();
    for (const std::string& name : *path) at = at.toObject()->getAttr(name);
    const at::Tensor W = at.toTensor();
    if (W.dim() == 2) one["dims"] = {-1, W.size(1)};
    if (W.dim() == 4 && node->input(0)->node()->kind() == c10::prim::Param)
      one["dims"] = {-1, W.size(1), -1, -1};
    if (W.scalar_type() == at::kDouble) one["type"] = kDouble;
  }

  jit::Graph& graph_;
  const jit::Module& module_;
  const jit::Value* self_;
};

struct Script {
  jit::Module module;
  std::shared_ptr<jit::Graph> graph;
  std::string tail, no_tail;
  std::unique_ptr<jit::GraphExecutor> below;
};

// Attributes that are flags and numbers, not tensors, become constants, and what they
// decide goes.
void simplify(const std::shared_ptr<jit::Graph>& graph, const jit::Module& module) {
  jit::Inline(*graph);
  const jit::Value* self = graph->inputs().at(0);
  each_node(graph->block(), [&](jit::Node* node) {
    if (!is(node, "prim::GetAttr")) return;
    const auto path = path_of(node->output(), self);
    if (!path) return;
    c10::IValue value = module._ivalue();
    for (const std::string& name : *path) value = value.toObject()->getAttr(name);
    if (!value.isBool() && !value.isInt() && !value.isDouble() && !value.isNone()) return;
    const jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(graph->insertConstant(value));
  });
  jit::ConstantPropagation(const_cast<std::shared_ptr<jit::Graph>&>(graph));
  jit::EliminateDeadCode(graph->block());
}

// One thread for each call: the core runs batches side by side, and sums must not depend
// on how many.
void one_thread() {
  thread_local const bool done = [] {
    at::set_num_threads(1);
    return true;
  }();
  (void)done;
}

std::unique_ptr<Script> open_script(const std::uint8_t* bytes, std::uint64_t size) {
  one_thread();
  jit::getProfilingMode() = false;
  jit::getExecutorMode() = false;
  auto script = std::make_unique<Script>();
  std::istringstream stream(std::string(reinterpret_cast<const char*>(bytes), size));
  script->module = jit::load(stream, at::kCPU);
  script->module.eval();
  script->graph = script->module.get_method("forward").graph()->copy();
  simplify(script->graph, script->module);
  try {
    script->tail = TailFinder(*script->graph, script->module).find();
    script->below = std::make_unique<jit::GraphExecutor>(script->graph, "features");
  } catch (const NoTail& none) {
    script->no_tail = none.what();
  }
  return script;
}

at::Tensor input_of(const FmdOnnxTensor& input) {
  const std::vector<std::int64_t> shape(input.shape, input.shape + input.rank);
  at::ScalarType type = at::kFloat;
  if (input.type == kInt32) type = at::kInt;
  if (input.type == kInt64) type = at::kLong;
  if (input.type == kDouble) type = at::kDouble;
  return at::from_blob(const_cast<void*>(input.data), shape, at::TensorOptions(type));
}

void run_script(const Script& script, const FmdOnnxTensor* inputs, std::int32_t count,
                float* into, std::int64_t numbers) {
  one_thread();
  if (!script.below) throw std::runtime_error(script.no_tail);
  const c10::InferenceMode guard;
  std::vector<c10::IValue> stack = {script.module._ivalue()};
  for (std::int32_t k = 0; k < count; ++k) stack.emplace_back(input_of(inputs[k]));
  script.below->run(stack);
  const at::Tensor made = stack.at(0).toTensor().to(at::kFloat).contiguous();
  if (made.numel() != numbers) {
    std::ostringstream text;
    text << "the input of the head has shape " << made.sizes() << ", " << numbers
         << " numbers are needed";
    throw std::runtime_error(text.str());
  }
  std::copy_n(made.const_data_ptr<float>(), numbers, into);
}

void* open(const char* /*libraries*/, const std::uint8_t* bytes, std::uint64_t size,
           const char* /*folder*/, char* message, std::size_t room) {
  return guarded<void*>(message, room, nullptr,
                        [&]() -> void* { return open_script(bytes, size).release(); });
}

void close(void* model) { delete static_cast<Script*>(model); }

const char* library(void* /*model*/) { return TORCH_VERSION; }

int run(void* model, const FmdOnnxTensor* inputs, std::int32_t input_count,
        const char* /*output*/, float* into, std::int64_t count, char* message,
        std::size_t room) {
  return guarded(message, room, 0, [&] {
    run_script(*static_cast<Script*>(model), inputs, input_count, into, count);
    return 1;
  });
}

}  // namespace

struct FmdOnnx script_table() {
  return {kFmdTorchVersion, open, close, library, run};
}

const char* script_tail(void* model, char* message, std::size_t room) {
  return guarded<const char*>(message, room, nullptr, [&]() -> const char* {
    const auto& script = *static_cast<Script*>(model);
    if (!script.below) throw std::runtime_error(script.no_tail);
    return script.tail.c_str();
  });
}

}  // namespace fmd::torch_plugin
