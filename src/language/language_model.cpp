#include "fmd/language/language_model.h"

#include <cmath>

#include <fmt/format.h>

#include "core/beside.h"
#include "core/index.h"
#include "core/internal.h"
#include "core/names.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "language/llama.h"
#include "language/llama2c.h"
#include "language/model_config.h"
#include "language/onnx_states.h"
#include "language/weight_files.h"

namespace fs = std::filesystem;

namespace fmd {
namespace {

constexpr Name<LanguageKind> kLanguageKinds[] = {{LanguageKind::causal, "causal"},
                                                 {LanguageKind::masked, "masked"}};

class NativeStates final : public StateSource {
 public:
  explicit NativeStates(Llama model) : model_(std::move(model)) {}
  [[nodiscard]] FloatMatrix states(const StatePlan& plan, const Exec& exec) const override {
    return llama_states(model_, plan, exec);
  }

 private:
  Llama model_;
};

// Names of the tensors around the head, by the model's type.
struct HeadNames {
  const char *embedding, *head, *bias;
};

HeadNames head_names(const std::string& type) {
  if (type == "gpt2") return {"transformer.wte.weight", "lm_head.weight", ""};
  if (type == "bert")
    return {"bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight",
            "cls.predictions.bias"};
  if (type == "distilbert")
    return {"distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight",
            "vocab_projector.bias"};
  if (type == "roberta")
    return {"roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight",
            "lm_head.bias"};
  return {"model.embed_tokens.weight", "lm_head.weight", ""};
}

VocabularyHead read_head(const WeightFiles& weights, const ModelConfig& config) {
  const HeadNames names = head_names(config.type);
  VocabularyHead head;
  head.tied = config.tied;
  head.head_name = names.head;
  head.weight_name = config.tied ? names.embedding : names.head;
  // GPT-2 as it was first published has its tensors without the name of the outer module.
  const std::string outer = "transformer.";
  if (weights.find(head.weight_name) == nullptr && head.weight_name.starts_with(outer) &&
      weights.find(head.weight_name.substr(outer.size())) != nullptr)
    head.weight_name.erase(0, outer.size());
  head.weight = weights.matrix(head.weight_name, config.vocabulary, config.cols);
  head.file = weights.find(head.weight_name)->shard;
  if (*names.bias != '\0') {
    head.bias_name = names.bias;
    head.bias = weights.vector(head.bias_name, config.vocabulary);
  }
  return head;
}

Llama read_llama_weights(const WeightFiles& weights, const ModelConfig& c) {
  Llama model;
  model.config = c;
  const Index queries = c.heads * c.head_size, keys = c.key_heads * c.head_size;
  for (Index l = 0; l < c.layers; ++l) {
    const std::string start = fmt::format("model.layers.{}.", l);
    const auto matrix = [&](const char* name, Index rows, Index cols) {
      return weights.matrix(start + name, rows, cols);
    };
    LlamaLayer layer;
    layer.attention_norm = weights.vector(start + "input_layernorm.weight", c.cols);
    layer.network_norm = weights.vector(start + "post_attention_layernorm.weight", c.cols);
    layer.query = matrix("self_attn.q_proj.weight", queries, c.cols);
    layer.key = matrix("self_attn.k_proj.weight", keys, c.cols);
    layer.value = matrix("self_attn.v_proj.weight", keys, c.cols);
    layer.output = matrix("self_attn.o_proj.weight", c.cols, queries);
    layer.gate = matrix("mlp.gate_proj.weight", c.hidden, c.cols);
    layer.up = matrix("mlp.up_proj.weight", c.hidden, c.cols);
    layer.down = matrix("mlp.down_proj.weight", c.cols, c.hidden);
    model.layers.push_back(std::move(layer));
  }
  model.norm = weights.vector("model.norm.weight", c.cols);
  return model;
}

std::string hash_of(const std::string& how, const Hash& weights, const Hash& tokens) {
  const std::string text = fmt::format("{} {} {}", how, hex(weights), hex(tokens));
  return hex(sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

// The values of config.json that the native pass depends on.
std::string native_words(const ModelConfig& c) {
  return fmt::format("native {} {} {} {} {} {} {:.17g} {:.17g}", c.cols, c.hidden, c.layers,
                     c.heads, c.key_heads, c.head_size, c.norm_epsilon, c.rope_theta);
}

}  // namespace

std::string to_string(LanguageKind kind) {
  return name_of(kLanguageKinds, "the kind of language model", kind);
}

struct LanguageModel::State {
  fs::path path;
  ModelConfig config;
  std::optional<Tokenizer> tokenizer;
  VocabularyHead head;
  FloatMatrix embedding;  // only where it is not the head
  std::unique_ptr<StateSource> source;
  bool native = false;
  std::string hash;
  TokenId first = 0;
  std::optional<TokenId> last;

  void open_folder(const LanguageModelOptions& options, const Exec& exec);
  void open_llama2c();
  void use_native(Llama model);
  void settle_tokens(const Exec& exec);
};

void LanguageModel::State::use_native(Llama model) {
  model.embedding = config.tied ? &head.weight : &embedding;
  source = std::make_unique<NativeStates>(std::move(model));
  native = true;
}

void LanguageModel::State::open_folder(const LanguageModelOptions& options,
                                       const Exec& exec) {
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors",
                           "model.safetensors.index.json", "backbone.onnx"})
    static_cast<void>(found_file(path / name, ErrorKind::bad_model));
  config = read_model_config(path / "config.json");
  const fs::path tokens = path / "tokenizer.json", onnx = path / "backbone.onnx";
  tokenizer = Tokenizer::open(tokens);
  const WeightFiles weights = WeightFiles::open(path);
  head = read_head(weights, config);
  const bool llama = config.type == "llama" && config.not_native.empty();
  if (options.backbone == BackboneChoice::native && !llama)
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: states of {} are not computed natively", path.string(),
                            config.not_native.empty() ? config.type : config.not_native),
                "write backbone.onnx by tools/export_lm.py MODEL");
  if (llama && options.backbone != BackboneChoice::onnx) {
    exec.report("model", 0, 1);
    if (!config.tied)
      embedding =
          weights.matrix(head_names(config.type).embedding, config.vocabulary, config.cols);
    hash = hash_of(native_words(config),
                   weights.hash_without({head.head_name, head.bias_name}),
                   sha256_file(tokens));
    use_native(read_llama_weights(weights, config));
    exec.report("model", 1, 1);
    return;
  }
  if (!fs::exists(onnx))
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: there is no backbone.onnx, which a model of the type {} "
                            "needs{}",
                            path.string(), config.type,
                            config.not_native.empty() ? "" : ": " + config.not_native),
                "write it by tools/export_lm.py MODEL");
  hash = hash_of("onnx", sha256_file(onnx), sha256_file(tokens));
  source = make_onnx_states(onnx, config.cols);
}

void LanguageModel::State::open_llama2c() {
  const auto file = InputFile::open(path);
  const Bytes start = file->first(4);
  if (std::string(start.begin(), start.end()) == "GGUF")
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: GGUF files are not read", path.string()),
                "make a folder of it: tools/export_lm.py FILE.gguf -o FOLDER");
  Llama2cFile read = read_llama2c(*file);
  config = read.config;
  fs::path tokens = path.parent_path() / "tokenizer.bin";
  if (!fs::exists(tokens))
    tokens = path.parent_path() / fmt::format("tok{}.bin", config.vocabulary);
  if (!fs::exists(tokens))
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: its tokenizer is missing: neither tokenizer.bin nor "
                            "tok{}.bin is beside it",
                            path.string(), config.vocabulary),
                "copy the tokenizer of the model beside it");
  tokenizer =
      Tokenizer::open_llama2c(found_file(tokens, ErrorKind::bad_model), config.vocabulary);
  head.tied = config.tied;
  head.weight = config.tied ? std::move(read.embedding) : std::move(read.head);
  if (!config.tied) embedding = std::move(read.embedding);
  head.weight_name = config.tied ? "token_embedding_table" : "wcls";
  head.head_name = "wcls";
  head.file = path.filename().string();
  hash = hash_of("llama2c", read.hash, sha256_file(tokens));
  use_native(std::move(read.model));
}

void LanguageModel::State::settle_tokens(const Exec& exec) {
  if (tokenizer->vocabulary() > config.vocabulary)
    throw Error(ErrorKind::wrong_model,
                fmt::format("{}: the tokenizer has {} tokens, the model {}", path.string(),
                            tokenizer->vocabulary(), config.vocabulary),
                "keep the tokenizer that came with the model");
  // Rows of the head are filled up to a round number, but never by so many.
  if (tokenizer->vocabulary() < config.vocabulary / 4 * 3)
    throw Error(ErrorKind::wrong_model,
                fmt::format("{}: the tokenizer has {} tokens, the model {}: it is that of "
                            "another model",
                            path.string(), tokenizer->vocabulary(), config.vocabulary),
                "keep the tokenizer that came with the model");
  if (tokenizer->vocabulary() < config.vocabulary - config.vocabulary / 50)
    exec.note(
        fmt::format("{}: the tokenizer has {} tokens, the model {}: make sure that "
                    "they belong together",
                    path.string(), tokenizer->vocabulary(), config.vocabulary));
  const auto missing = [&](const char* what) {
    return Error(ErrorKind::wrong_model,
                 fmt::format("{}: the tokenizer has no token {}", path.string(), what),
                 "keep the tokenizer that came with the model");
  };
  if (config.kind == LanguageKind::masked) {
    const bool bert = tokenizer->id("[CLS]").has_value();
    const auto begin = tokenizer->id(bert ? "[CLS]" : "<s>");
    last = tokenizer->id(bert ? "[SEP]" : "</s>");
    if (!begin || !last) throw missing("[CLS] and [SEP], or <s> and </s>");
    if (!tokenizer->mask()) throw missing("[MASK] or <mask>");
    first = *begin;
    return;
  }
  if (tokenizer->id("[CLS]") && tokenizer->id("[SEP]") && tokenizer->id("[MASK]"))
    throw Error(ErrorKind::wrong_model,
                fmt::format("{}: the tokenizer is that of a masked model ([CLS], [SEP], "
                            "[MASK]), the model is {}",
                            path.string(), config.type),
                "keep the tokenizer that came with the model");
  const std::optional<TokenId> begin = tokenizer->beginning();
  if (!begin && config.first < 0) throw missing("that begins a text");
  first = begin.value_or(config.first);
}

LanguageModel::LanguageModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
LanguageModel::~LanguageModel() = default;
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;

LanguageModel LanguageModel::open(const fs::path& path, const LanguageModelOptions& options,
                                  const Exec& exec) {
  auto state = std::make_unique<State>();
  state->path = path;
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    state->open_folder(options, exec);
  } else if (options.backbone == BackboneChoice::onnx) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: a file of llama2.c has no ONNX backbone", path.string()));
  } else {
    state->open_llama2c();
  }
  state->settle_tokens(exec);
  return LanguageModel(std::move(state));
}

const fs::path& LanguageModel::path() const { return state_->path; }
std::string LanguageModel::name() const {
  const fs::path name = state_->path.filename();
  return (name.empty() ? state_->path.parent_path().filename() : name).string();
}
const std::string& LanguageModel::type() const { return state_->config.type; }
LanguageKind LanguageModel::kind() const { return state_->config.kind; }
const Tokenizer& LanguageModel::tokenizer() const { return *state_->tokenizer; }
const VocabularyHead& LanguageModel::head() const { return state_->head; }
Index LanguageModel::cols() const { return state_->config.cols; }
Index LanguageModel::context() const { return state_->config.context; }
TokenId LanguageModel::first_token() const { return state_->first; }
std::optional<TokenId> LanguageModel::last_token() const { return state_->last; }
const std::string& LanguageModel::backbone_hash() const { return state_->hash; }
bool LanguageModel::native() const { return state_->native; }

FloatMatrix LanguageModel::states(const StatePlan& plan, const Exec& exec) const {
  const Index vocabulary = state_->config.vocabulary;
  const auto check = [&](TokenId token, Index position) {
    if (token < 0 || token >= vocabulary)
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}: there is no token {}; the vocabulary has {}",
                              state_->path.string(), token, vocabulary));
    if (position >= context())
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}: a sequence is longer than the {} tokens of the context",
                              state_->path.string(), context()),
                  "shorten the text");
  };
  std::vector<Index> depth;
  for (const StatePlan::Node& node : plan.nodes) {
    if (node.parent >= std::ssize(depth))
      throw Error(ErrorKind::bad_shape, "states: a node stands before its parent");
    depth.push_back(node.parent < 0 ? 0 : depth[at(node.parent)] + 1);
    check(node.token, depth.back());
  }
  if (plan.inputs.size() != plan.position.size())
    throw Error(ErrorKind::bad_shape, "states: each input needs a position");
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const Index length = std::ssize(plan.inputs[i]);
    for (const TokenId token : plan.inputs[i]) check(token, length - 1);
    if (plan.position[i] < 0 || plan.position[i] >= length)
      throw Error(ErrorKind::bad_shape, "states: a position is outside of its input");
  }
  const bool causal = kind() == LanguageKind::causal;
  if (causal ? !plan.inputs.empty() : !plan.nodes.empty())
    throw Error(ErrorKind::bad_shape, "states: the plan is for another kind of model");
  if (plan.states() == 0) return FloatMatrix(0, cols());
  return state_->source->states(plan, exec);
}

}  // namespace fmd
