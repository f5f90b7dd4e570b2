#include "language/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/json.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/safe_text.h"

namespace fmd::internal {
namespace {

using Json = nlohmann::json;

constexpr Index kMostSize = Index{1} << 24;  // of any one dimension

class ConfigReader {
 public:
  ConfigReader(const Json& file, const std::string& source) : file_(file), source_(source) {
    if (!file.is_object()) refuse("it is no JSON object");
  }

  [[nodiscard]] const Json* find(const char* name) const {
    const auto found = file_.find(name);
    return found == file_.end() || found->is_null() ? nullptr : &*found;
  }
  // A positive whole number. otherwise: what holds where the field is missing; 0 = it must
  // be there.
  [[nodiscard]] Index size(const char* name, Index otherwise = 0) const {
    const Json* found = find(name);
    if (found == nullptr && otherwise > 0) return otherwise;
    if (found == nullptr) refuse(fmt::format("\"{}\" is missing", name));
    if (!found->is_number_integer() || found->get<std::int64_t>() < 1 ||
        found->get<std::int64_t>() > kMostSize)
      refuse(fmt::format("\"{}\" is no whole number from 1 to {}", name, kMostSize));
    return found->get<Index>();
  }
  [[nodiscard]] double number(const Json* found, const char* name, double otherwise) const {
    if (found == nullptr) return otherwise;
    const bool good = found->is_number() && std::isfinite(found->get<double>()) &&
                      found->get<double>() > 0;
    if (!good) refuse(fmt::format("\"{}\" is no positive number", name));
    return found->get<double>();
  }
  [[nodiscard]] bool flag(const char* name, bool otherwise) const {
    const Json* found = find(name);
    if (found == nullptr) return otherwise;
    if (!found->is_boolean()) refuse(fmt::format("\"{}\" is neither true nor false", name));
    return found->get<bool>();
  }
  [[nodiscard]] std::string text(const char* name, const std::string& otherwise) const {
    const Json* found = find(name);
    if (found == nullptr) return otherwise;
    if (!found->is_string()) refuse(fmt::format("\"{}\" is no text", name));
    return found->get<std::string>();
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source_, what),
                "config.json must be the one that came with the model");
  }

 private:
  const Json& file_;
  const std::string& source_;
};

// Rotary positions stand at the top or, since transformers 5, in rope_parameters.
void read_rope(const ConfigReader& in, ModelConfig& config) {
  config.rope_theta = in.number(in.find("rope_theta"), "rope_theta", 10000);
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const Json* rope = in.find(name);
    if (rope == nullptr || !rope->is_object()) continue;
    const auto theta = rope->find("rope_theta");
    if (theta != rope->end())
      config.rope_theta = in.number(&*theta, "rope_theta", config.rope_theta);
    std::string kind = "default";
    for (const char* key : {"type", "rope_type"}) {
      const auto type = rope->find(key);
      if (type != rope->end() && type->is_string()) kind = type->get<std::string>();
    }
    if (kind != "default")
      config.not_native = fmt::format("rotary positions of the kind {}", safe_text(kind));
  }
}

void read_llama(const ConfigReader& in, ModelConfig& config) {
  config.hidden = in.size("intermediate_size");
  config.layers = in.size("num_hidden_layers");
  config.heads = in.size("num_attention_heads");
  config.key_heads = in.size("num_key_value_heads", config.heads);
  config.head_size = in.size("head_dim", std::max<Index>(1, config.cols / config.heads));
  config.norm_epsilon = in.number(in.find("rms_norm_eps"), "rms_norm_eps", 1e-6);
  read_rope(in, config);
  if (config.heads % config.key_heads != 0 || config.head_size % 2 != 0)
    in.refuse(fmt::format("{} attention heads of size {} with {} key heads do not fit",
                          config.heads, config.head_size, config.key_heads));
  if (in.flag("attention_bias", false) || in.flag("mlp_bias", false))
    config.not_native = "layers with a bias";
  if (in.text("hidden_act", "silu") != "silu")
    config.not_native =
        fmt::format("the activation {}", safe_text(in.text("hidden_act", "")));
}

}  // namespace

ModelConfig parse_model_config(std::string_view json, const std::string& source) {
  const Json file = parse_json(json, source, ErrorKind::bad_model, "damaged JSON",
                               "config.json must be the one that came with the model");
  const ConfigReader in(file, source);
  ModelConfig config;
  config.type = in.text("model_type", "");
  constexpr std::array<std::string_view, 5> kKnown = {"llama", "gpt2", "bert", "distilbert",
                                                      "roberta"};
  if (std::find(kKnown.begin(), kKnown.end(), config.type) == kKnown.end())
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: models of the type \"{}\" are not known", source,
                            safe_text(config.type)),
                "known are llama, gpt2, bert, distilbert and roberta");
  config.vocabulary = in.size("vocab_size");
  if (const Json* first = in.find("bos_token_id"); first != nullptr)
    if (first->is_number_integer() && first->get<std::int64_t>() >= 0 &&
        first->get<std::int64_t>() < config.vocabulary)
      config.first = first->get<TokenId>();
  const std::string& type = config.type;
  if (type == "llama") {
    config.cols = in.size("hidden_size");
    config.context = in.size("max_position_embeddings", 2048);
    config.tied = in.flag("tie_word_embeddings", false);
    read_llama(in, config);
  } else if (type == "gpt2") {
    config.cols = in.size("n_embd");
    config.context =
        in.size(in.find("n_positions") != nullptr ? "n_positions" : "n_ctx", 1024);
    config.tied = in.flag("tie_word_embeddings", true);
  } else {  // bert, distilbert, roberta
    config.kind = LanguageKind::masked;
    config.cols = in.size(type == "distilbert" ? "dim" : "hidden_size");
    config.context = in.size("max_position_embeddings", 512);
    if (type == "roberta") config.context -= 2;  // positions begin behind the padding
    config.tied = in.flag("tie_word_embeddings", true);
  }
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& file) {
  const FileView view = FileView::open(file, kMostJson);
  return parse_model_config(view.text(), file.string());
}

}  // namespace fmd::internal
