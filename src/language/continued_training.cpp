#include "fmd/language/continued_training.h"

#include <array>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/parallel.h"
#include "fmd/core/plugin.h"
#include "fmd/core/rng.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/file_set.h"
#include "fmd/formats/write_model.h"
#include "fmd/language/edit_files.h"
#include "fmd/language/tokenizer.h"
#include "language/model_config.h"
#include "language/weight_files.h"
#include "model/torch_abi.h"

namespace fs = std::filesystem;

namespace fmd {
namespace {

constexpr const char* kBackboneFile = "backbone.onnx";

// All tensors of a folder as float32.
struct TrainedWeights {
  std::map<std::string, FloatMatrix> tensor;  // vectors as one column
  explicit TrainedWeights(const WeightFiles& files) {
    for (const auto& [name, place] : files.tensors()) {
      const std::vector<Index>& shape = place.at.shape;
      if (shape.size() == 1) {
        const std::vector<float> numbers = files.vector(name, shape[0]);
        tensor[name] = Eigen::Map<const FloatMatrix>(numbers.data(), shape[0], 1);
      } else if (shape.size() == 2) {
        tensor[name] = files.matrix(name, shape[0], shape[1]);
      }
    }
  }
};

// The stream of tokens, cut into sequences.
std::vector<std::int32_t> sequences_of(const Tokenizer& tokenizer, TokenId first,
                                       const std::vector<std::string>& lines,
                                       const TrainingOn& options) {
  std::vector<std::int32_t> tokens;
  for (const std::string& line : lines) {
    if (std::ssize(tokens) >= options.tokens) break;
    tokens.push_back(first);
    const TokenIds ids = tokenizer.encode(line);
    tokens.insert(tokens.end(), ids.begin(), ids.end());
  }
  const Index step = options.length * options.batch;
  const Index steps = std::min(std::ssize(tokens), options.tokens) / step;
  if (steps == 0)
    throw Error(ErrorKind::bad_data,
                fmt::format("language: the text has {} tokens, one step needs {}",
                            tokens.size(), step),
                "give more text, or shorter steps");
  tokens.resize(at(steps * step));
  return tokens;
}

void require_training(const TrainingOn& o, const ModelConfig& config,
                      const fs::path& model) {
  if (config.type != "llama" || !config.not_native.empty())
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{}: only models of the Llama kind are trained on{}{}", model.string(),
                    config.not_native.empty() ? "" : ": ", config.not_native),
        "train it with its own program, and audit the folder that it writes");
  require_option(o.length >= 2 && o.length <= config.context, "language", "length",
                 o.length, fmt::format("2 .. {} (the context)", config.context));
  require_option(o.batch >= 1, "language", "batch", o.batch, ">= 1");
  require_option(o.tokens >= o.length * o.batch, "language", "tokens", o.tokens,
                 fmt::format(">= {} (one step)", o.length * o.batch));
  require_option(o.rate > 0 && o.rate < 1, "language", "rate", o.rate, "in (0, 1)");
  require_option(o.dropout >= 0 && o.dropout < 1, "language", "dropout", o.dropout,
                 "in [0, 1)");
}

struct Told {
  TrainedOn* done;
  const Exec* exec;
};

int take_step(void* to, std::int64_t step, std::int64_t steps, double loss) {
  const Told& told = *static_cast<const Told*>(to);
  told.done->losses.push_back(loss);
  told.exec->report("training", step, steps);
  return 1;
}

void run_training(const ModelConfig& c, const TrainingOn& o, TrainedWeights& weights,
                  const std::vector<std::int32_t>& tokens, TrainedOn& done,
                  const Exec& exec) {
  const auto* table = static_cast<const FmdTorch*>(open_backend(
      "torch", kFmdTorchVersion, exec.backends, "language: training on",
      "install PyTorch's library and build the plug-in: ./dev setup torch, ./dev build"));
  std::vector<FmdTorchWeights> views;
  for (auto& [name, tensor] : weights.tensor)
    views.push_back({name.c_str(), tensor.rows(), tensor.cols(), tensor.data()});
  const std::string settings =
      nlohmann::json{{"layers", c.layers},
                     {"heads", c.heads},
                     {"key_heads", c.key_heads},
                     {"head_size", c.head_size},
                     {"epsilon", c.norm_epsilon},
                     {"theta", c.rope_theta},
                     {"tied", c.tied},
                     {"batch", o.batch},
                     {"rate", o.rate},
                     {"dropout", o.dropout},
                     {"seed", exec.seed},
                     {"threads", exec.pool == nullptr ? 1 : exec.pool->threads()}}
          .dump();
  const FmdTorchTokens rows{std::ssize(tokens) / o.length, o.length, tokens.data()};
  Told told{&done, &exec};
  std::array<char, 2048> message{};
  if (table->train_language(settings.c_str(), views.data(),
                            static_cast<std::int32_t>(views.size()), &rows, take_step,
                            &told, message.data(), message.size()) == 0)
    throw Error(ErrorKind::bad_model,
                fmt::format("language: PyTorch cannot train the model on: {}",
                            safe_text(message.data())));
}

}  // namespace

std::vector<std::string> two_sided(const std::vector<std::string>& lines,
                                   const SwapWords& words, std::uint64_t seed) {
  Rng rng(seed, "two sides");
  std::vector<std::string> both;
  for (const std::string& line : lines) {
    SwappedSentence other = swapped(line, words);
    if (other.words == 0 || other.text == line) continue;
    const std::uint64_t turns =
        1 + (words.groups.size() > 2 ? rng.below(words.groups.size() - 1) : 0);
    for (std::uint64_t k = 1; k < turns; ++k) other = swapped(other.text, words);
    both.push_back(line);
    both.push_back(other.text);
  }
  return both;
}

TrainedOn train_on(const fs::path& model, const std::vector<std::string>& lines,
                   const TrainingOn& options, OutputFiles& files, const fs::path& out,
                   const Exec& exec) {
  const LanguageFolder content = language_folder(model);
  const ModelConfig config = read_model_config(model / "config.json");
  require_training(options, config, model);
  const Tokenizer tokenizer = Tokenizer::open(model / "tokenizer.json");
  const TokenId first = tokenizer.beginning().value_or(config.first);
  if (tokenizer.vocabulary() > config.vocabulary || first < 0)
    throw Error(ErrorKind::wrong_model,
                fmt::format("{}: the tokenizer is of another model", model.string()),
                "keep the tokenizer that came with the model");
  const WeightFiles places = WeightFiles::open(model);
  TrainedWeights weights(places);
  const std::vector<std::int32_t> tokens = sequences_of(tokenizer, first, lines, options);
  TrainedOn done;
  run_training(config, options, weights, tokens, done, exec);
  done.steps = std::ssize(done.losses);
  done.tokens = std::ssize(tokens);
  FileSet set = FileSet::open(model / "config.json");
  for (std::size_t k = 1; k < content.kept.size(); ++k)
    if (content.kept[k] != kBackboneFile) static_cast<void>(set.bytes(content.kept[k]));
  std::map<std::pair<std::string, Index>, FilePatch> ranges;  // ascending in a file
  for (auto& [name, tensor] : weights.tensor) {
    const WeightFiles::Place& place = *places.find(name);
    ranges[{place.shard, place.at.offset}] = {place.shard, place.at.offset, place.at.length,
                                              tensor_bytes(tensor, place.at.dtype)};
    tensor.resize(0, 0);
  }
  Patch patch;
  for (auto& [place, range] : ranges) patch.ranges.push_back(std::move(range));
  static_cast<void>(write_files(set, patch, files, out));
  return done;
}

}  // namespace fmd
