#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/hash.h"
#include "fmd/language/tokenizer.h"

namespace fmd {

// Rows of numbers as models store them. States and the vocabulary's weights are float32;
// sums over them are double.
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// causal: the next token from the tokens before it. masked: a hidden token from both sides.
enum class LanguageKind { causal, masked };
[[nodiscard]] std::string to_string(LanguageKind kind);

// The last layer: logits = W h + bias, one row of W for each token of the vocabulary.
struct VocabularyHead {
  FloatMatrix weight;       // vocabulary x d
  std::vector<float> bias;  // per token; empty = none

  // Where the weights stand in the folder.
  bool tied = false;        // the input embeddings are the same numbers
  std::string weight_name;  // tensor that holds W ("model.embed_tokens.weight" when tied)
  std::string head_name;    // its name when it is no longer tied ("lm_head.weight")
  std::string bias_name;    // empty = none
  std::string file;         // the shard that holds W, a plain name

  [[nodiscard]] Index vocabulary() const { return weight.rows(); }
  [[nodiscard]] Index cols() const { return weight.cols(); }
};

// Token prefixes (causal) or sentences with a hidden place (masked) whose states are asked
// for, each once. Made by plan_states() in prefix_states.h.
struct StatePlan {
  // causal: state i is the one after the tokens of node i's ancestors and its own. Parents
  // stand before their children; -1 = the node is the first token.
  struct Node {
    Index parent = -1;
    TokenId token = 0;
  };
  std::vector<Node> nodes;
  // masked: state i is that of inputs[i] at position[i].
  std::vector<TokenIds> inputs;
  std::vector<Index> position;

  [[nodiscard]] Index states() const {
    return static_cast<Index>(nodes.empty() ? inputs.size() : nodes.size());
  }
};

// How a folder's states are computed. automatic: natively where this program can (the Llama
// kind), else by the ONNX file.
enum class BackboneChoice { automatic, native, onnx };

struct LanguageModelOptions {
  BackboneChoice backbone = BackboneChoice::automatic;
};

// A language model: a frozen backbone that turns tokens into states, and the head over the
// vocabulary. It opens
//   - a folder as Hugging Face writes it: config.json, model.safetensors (or shards with
//     model.safetensors.index.json), tokenizer.json. The states come natively for the Llama
//     kind; for others from backbone.onnx in the folder, which tools/export_lm.py writes;
//   - a file of llama2.c (NAME.bin) with its tokenizer (tokenizer.bin, or tok512.bin)
//     beside it.
// Kinds by config.json's model_type: llama (native or ONNX), gpt2 (ONNX), and the masked
// ones bert, distilbert and roberta (ONNX).
class LanguageModel {
 public:
  // Throws Error: cannot_read, bad_model (damaged or missing pieces, which it names),
  // wrong_model (a tokenizer with more tokens than the head has rows), unsupported.
  [[nodiscard]] static LanguageModel open(const std::filesystem::path& path,
                                          const LanguageModelOptions& options = {},
                                          const Exec& exec = {});
  ~LanguageModel();
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const;  // as given
  [[nodiscard]] std::string name() const;                   // last part of the path
  [[nodiscard]] const std::string& type() const;            // "llama", "gpt2", "bert", ...
  [[nodiscard]] LanguageKind kind() const;
  [[nodiscard]] const Tokenizer& tokenizer() const;
  [[nodiscard]] const VocabularyHead& head() const;
  [[nodiscard]] Index cols() const;     // d: length of a state
  [[nodiscard]] Index context() const;  // tokens a sequence may have
  // The token before the first one of a sentence (causal), or around it (masked).
  [[nodiscard]] TokenId first_token() const;
  [[nodiscard]] std::optional<TokenId> last_token() const;  // masked: [SEP]
  // Of all that is below the head (weights, configuration and tokens), in hex: a model
  // whose head alone was changed finds its states again.
  [[nodiscard]] const std::string& backbone_hash() const;
  [[nodiscard]] bool native() const;  // states without the ONNX plug-in

  // Input of the head: plan.states() x d. The same bits for any number of threads. Throws
  // Error(bad_value) for tokens outside the vocabulary and for sequences longer than the
  // context; Error(unsupported) where the ONNX plug-in is not there.
  [[nodiscard]] FloatMatrix states(const StatePlan& plan, const Exec& exec) const;

  struct State;  // private to the source
 private:
  explicit LanguageModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fmd
