#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/language/language_model.h"
#include "fmd/language/sentence_items.h"

namespace fmd {

// A token whose probability is asked for: log softmax(W h + bias)[token] with h the state.
struct ScoredToken {
  Index state = 0;
  TokenId token = 0;
  bool changed = true;  // CrowS-Pairs: not in both sentences of the pair
};

// The tokens of one sentence that count.
using ScoredSequence = std::vector<ScoredToken>;

// What is to be computed, before any forward pass: cheap.
struct SentencePlan {
  StatePlan states;
  std::vector<ScoredSequence> sequences;  // one per sentence, in the order of the items
  std::vector<std::string> notes;         // sentences that were cut or left out
};

// Sentences of all items, one after the other: sentence s of item i is sequence
// first[i] + s.
[[nodiscard]] std::vector<Index> first_sequences(const SentenceItems& items);

// causal: every token of the sentence after model.first_token(). Prefixes that sentences
// share are one state.
// masked, StereoSet within a sentence: each piece of the word in the place of BLANK,
// hidden, with the earlier pieces before it. masked, others: every token hidden one at a
// time. Intersentence items: the tokens of the second sentence after the first; causal
// only. A sentence that is longer than the context throws Error(bad_value), which names the
// item.
[[nodiscard]] SentencePlan plan_states(const LanguageModel& model,
                                       const SentenceItems& items);
// The same for plain text: every token counts. Text longer than the context is cut into
// pieces that follow each other (causal only).
[[nodiscard]] SentencePlan plan_text(const LanguageModel& model,
                                     std::span<const std::string> lines);

// States computed once, and which of them each sentence needs.
struct PrefixStates {
  FloatMatrix states;  // rows x d
  std::vector<ScoredSequence> sequences;
  std::vector<std::string> notes;
  bool from_cache = false;
};

// The states of a plan. folder: where features files of states are kept, found again by the
// hash of the backbone and of the plan; none: they are computed. A damaged or foreign file
// in it is not used, and written again.
[[nodiscard]] PrefixStates prefix_states(const LanguageModel& model, SentencePlan plan,
                                         const std::optional<std::filesystem::path>& folder,
                                         const Exec& exec);

// What a line is like: the mean of the states after each of its tokens, a row for each
// line. The token that begins a text is not in the mean. Lines that stand side by side
// share their prefixes. folder: as above, but the means are kept, in parts of 1,000 lines,
// so that a run that was stopped goes on. Throws Error(bad_data) for a line without a token
// or longer than the context.
[[nodiscard]] FloatMatrix sentence_means(const LanguageModel& model,
                                         std::span<const std::string> lines,
                                         const std::optional<std::filesystem::path>& folder,
                                         const Exec& exec);

// log p of each scored token, natural logarithm, in the order of the sequences. A head that
// is W (I + M) is scored with the states (I + M) h: give those in place of the states.
// Logits in float32 blocks, the normaliser in double. Cost: states x vocabulary x d, once
// for each state that is used. Throws Error(bad_shape, bad_value).
[[nodiscard]] std::vector<std::vector<double>> token_log_probabilities(
    const FloatMatrix& states, std::span<const ScoredSequence> sequences,
    const VocabularyHead& head, const Exec& exec);

// The log-normaliser log sum_w exp(W h + bias)_w of each state.
[[nodiscard]] std::vector<double> log_normalisers(const FloatMatrix& states,
                                                  const VocabularyHead& head,
                                                  const Exec& exec);

// exp(-mean log p) over all tokens of all sequences.
[[nodiscard]] double perplexity(const std::vector<std::vector<double>>& log_p);

}  // namespace fmd
