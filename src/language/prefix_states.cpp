#include "fmd/language/prefix_states.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "core/check.h"
#include "core/gemm.h"
#include "core/index.h"
#include "core/sums.h"
#include "fmd/core/error.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/features_file.h"
#include "fmd/metrics/interval.h"
#include "language/matching.h"

namespace fs = std::filesystem;

namespace fmd {
namespace {

constexpr std::string_view kBlankWord = "BLANK";
constexpr Index kHeadRows = 256, kHeadTokens = 4096;  // of one block of logits
constexpr Index kPieceTokens = 512;                   // of plain text
constexpr Index kPairTokens = 2048;                   // of CrowS-Pairs
constexpr Index kMeanLines = 1000;                    // of one file of means

// ---------------------------------------------------------------- plans

// Adds sentences to a plan; each prefix (or hidden place) that is new becomes a state.
class PlanBuilder {
 public:
  explicit PlanBuilder(const LanguageModel& model) : model_(model) {}

  // Causal: the tokens after `given`, each from all tokens before it.
  void add_causal(TokenIds given, const TokenIds& tokens) {
    ScoredSequence sequence;
    Index node = -1;
    for (const TokenId token : given) node = child(node, token);
    for (const TokenId token : tokens) {
      sequence.push_back({.state = node, .token = token});
      if (sequence.size() < tokens.size()) node = child(node, token);
    }
    plan_.sequences.push_back(std::move(sequence));
  }

  // Masked: the place `position` of `input`, which holds the mask.
  void add_hidden(ScoredSequence& sequence, TokenIds input, Index position, TokenId token) {
    const auto [found, fresh] =
        hidden_.emplace(std::pair{input, position}, plan_.states.states());
    if (fresh) {
      plan_.states.inputs.push_back(std::move(input));
      plan_.states.position.push_back(position);
    }
    sequence.push_back({.state = found->second, .token = token});
  }

  // Masked: every token hidden one at a time.
  void add_masked(const TokenIds& tokens) {
    ScoredSequence sequence;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      TokenIds input = around(tokens);
      input[k + 1] = *model_.tokenizer().mask();
      add_hidden(sequence, std::move(input), static_cast<Index>(k) + 1, tokens[k]);
    }
    plan_.sequences.push_back(std::move(sequence));
  }

  // Masked: the pieces of the word, with the earlier pieces before the hidden one and none
  // behind it.
  void add_word(const std::string& context, const std::string& word) {
    const Tokenizer& tokenizer = model_.tokenizer();
    const std::size_t blank = context.find(kBlankWord);
    const std::string mask = tokenizer.token(*tokenizer.mask());
    const TokenIds pieces = tokenizer.encode(word);
    ScoredSequence sequence;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      std::string text = context;
      const std::string before = tokenizer.decode({pieces.data(), k}, true);
      text.replace(blank, kBlankWord.size(), before + mask);
      TokenIds input = around(tokenizer.encode(text));
      const auto place = std::find(input.begin(), input.end(), *tokenizer.mask());
      const Index position = place - input.begin();
      add_hidden(sequence, std::move(input), position, pieces[k]);
    }
    plan_.sequences.push_back(std::move(sequence));
  }

  // The states after each token; the tokens of the sequence mean nothing.
  void add_states(TokenIds tokens) {
    ScoredSequence sequence;
    if (model_.kind() == LanguageKind::causal) {
      tokens.push_back(model_.first_token());  // has no state of its own
      add_causal({model_.first_token()}, tokens);
      auto& added = plan_.sequences.back();
      added.erase(added.begin());  // the state before the first token
      return;
    }
    for (std::size_t k = 0; k < tokens.size(); ++k)
      add_hidden(sequence, around(tokens), static_cast<Index>(k) + 1, tokens[k]);
    plan_.sequences.push_back(std::move(sequence));
  }

  void mark_unchanged(std::size_t first, std::size_t second) {
    ScoredSequence &a = plan_.sequences[first], &b = plan_.sequences[second];
    for (const ScoredSequence* side : {&a, &b})
      if (std::ssize(*side) > kPairTokens)
        throw Error(
            ErrorKind::bad_value,
            fmt::format("a sentence of a pair has {} tokens, {} at most are compared",
                        side->size(), kPairTokens),
            "shorten the sentence");
    TokenIds of_a, of_b;
    for (const ScoredToken& token : a) of_a.push_back(token.token);
    for (const ScoredToken& token : b) of_b.push_back(token.token);
    for (const auto& [i, j] : matching_tokens(of_a, of_b))
      a[at(i)].changed = b[at(j)].changed = false;
  }

  [[nodiscard]] SentencePlan finish() { return std::move(plan_); }
  [[nodiscard]] SentencePlan& plan() { return plan_; }

 private:
  [[nodiscard]] TokenIds around(const TokenIds& tokens) const {
    TokenIds input{model_.first_token()};
    input.insert(input.end(), tokens.begin(), tokens.end());
    input.push_back(*model_.last_token());
    return input;
  }

  Index child(Index parent, TokenId token) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(parent + 1) << 32) | static_cast<std::uint32_t>(token);
    const auto [found, fresh] = children_.emplace(key, plan_.states.states());
    if (fresh) plan_.states.nodes.push_back({parent, token});
    return found->second;
  }

  const LanguageModel& model_;
  SentencePlan plan_;
  std::unordered_map<std::uint64_t, Index> children_;
  std::map<std::pair<TokenIds, Index>, Index> hidden_;
};

void require_length(const LanguageModel& model, const SentenceItem& item, Index tokens) {
  if (tokens <= model.context()) return;
  throw Error(
      ErrorKind::bad_value,
      fmt::format("item \"{}\": a sentence has {} tokens, the context of {} holds {}",
                  safe_text(item.id), tokens, model.name(), model.context()),
      "shorten the sentence, or leave the item out");
}

void plan_causal(const LanguageModel& model, const SentenceItem& item,
                 PlanBuilder& builder) {
  const Tokenizer& tokenizer = model.tokenizer();
  for (const RoledSentence& sentence : item.sentences) {
    TokenIds given{model.first_token()};
    std::string text = sentence.text;
    if (item.intersentence) {
      const TokenIds context = tokenizer.encode(item.context);
      given.insert(given.end(), context.begin(), context.end());
      text.insert(0, " ");
    }
    const TokenIds tokens = tokenizer.encode(text);
    require_length(model, item, std::ssize(given) + std::ssize(tokens));
    builder.add_causal(std::move(given), tokens);
  }
}

void plan_masked(const LanguageModel& model, const SentenceItem& item,
                 SentenceSource source, PlanBuilder& builder) {
  const Tokenizer& tokenizer = model.tokenizer();
  for (const RoledSentence& sentence : item.sentences) {
    const TokenIds tokens = tokenizer.encode(sentence.text);
    require_length(model, item, std::ssize(tokens) + 2);
    if (item.intersentence) {
      builder.plan().sequences.emplace_back();
    } else if (source == SentenceSource::stereoset) {
      if (sentence.word.empty()) {
        builder.plan().sequences.emplace_back();
      } else {
        builder.add_word(item.context, sentence.word);
      }
    } else {
      builder.add_masked(tokens);
    }
  }
}

void note_left_out(const SentenceItems& items, SentencePlan& plan) {
  Index empty = 0;
  for (const ScoredSequence& sequence : plan.sequences) empty += sequence.empty() ? 1 : 0;
  if (empty > 0)
    plan.notes.push_back(
        fmt::format("{}: {} sentences have no tokens that this kind of model can score",
                    items.file, empty));
}

// ---------------------------------------------------------------- cache

void add_number(Sha256& hash, std::int64_t number) {
  hash.add({reinterpret_cast<const std::uint8_t*>(&number), sizeof(number)});
}

Hash hash_of_plan(const StatePlan& plan) {
  Sha256 hash;
  add_number(hash, std::ssize(plan.nodes));
  for (const StatePlan::Node& node : plan.nodes) {
    add_number(hash, node.parent);
    add_number(hash, node.token);
  }
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    add_number(hash, plan.position[i]);
    add_number(hash, std::ssize(plan.inputs[i]));
    for (const TokenId token : plan.inputs[i]) add_number(hash, token);
  }
  return hash.finish();
}

std::optional<FloatMatrix> read_states(const fs::path& file, const std::string& backbone,
                                       const std::string& plan, Index rows, Index cols) {
  if (!fs::exists(file)) return std::nullopt;
  try {
    const FeaturesFile kept = FeaturesFile::open(file);
    const FeaturesNote& note = kept.note();
    if (note.rows != rows || note.cols != cols || note.places != 0 ||
        note.encoder != backbone || note.source_sha256 != plan)
      return std::nullopt;
    const auto X = kept.features(0, rows);
    FloatMatrix states(rows, cols);
    Scratch scratch;
    for (Index b = 0; b < block_count(rows); ++b) {
      const FeatureBlock block = X->block(b, scratch);
      std::copy_n(block.dense, block.rows * cols, states.data() + b * kBlockRows * cols);
    }
    return states;
  } catch (const Error&) {  // damaged: it counts as absent
    return std::nullopt;
  }
}

void write_states(const fs::path& file, const std::string& model,
                  const std::string& backbone, const std::string& plan,
                  const FloatMatrix& states) {
  FeaturesNote note;
  note.rows = states.rows();
  note.cols = states.cols();
  note.encoder = backbone;
  note.source = fmt::format("states of {}", safe_text(model));
  note.source_sha256 = plan;
  OutputFiles files({.force = true});
  FeaturesWriter writer(files, file, note);
  for (Index first = 0; first < states.rows(); first += kBlockRows) {
    const Index rows = std::min(kBlockRows, states.rows() - first);
    const float* from = states.data() + first * states.cols();
    const auto X = make_dense({from, from + rows * states.cols()}, rows, states.cols());
    writer.add(*X, {}, {}, {});
  }
  writer.finish(-1, 0, 0);
  files.commit();
}

Hash hash_of_lines(const std::vector<TokenIds>& lines) {
  Sha256 hash;
  for (const TokenIds& line : lines) {
    add_number(hash, std::ssize(line));
    for (const TokenId token : line) add_number(hash, token);
  }
  return hash.finish();
}

FloatMatrix means_of(const LanguageModel& model, const std::vector<TokenIds>& lines,
                     const Exec& exec) {
  PlanBuilder builder(model);
  for (const TokenIds& line : lines) builder.add_states(line);
  const SentencePlan plan = builder.finish();
  const FloatMatrix states = model.states(plan.states, exec);
  FloatMatrix means(std::ssize(lines), states.cols());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Vector sum = Vector::Zero(states.cols());
    for (const ScoredToken& token : plan.sequences[i])
      sum += states.row(token.state).transpose().cast<double>();
    sum /= static_cast<double>(lines[i].size());
    means.row(static_cast<Index>(i)) = sum.transpose().cast<float>();
  }
  return means;
}

// ---------------------------------------------------------------- the head

void check_head(const FloatMatrix& states, std::span<const ScoredSequence> sequences,
                const VocabularyHead& head) {
  if (states.cols() != head.cols())
    throw Error(ErrorKind::bad_shape,
                fmt::format("language: states have {} numbers, the head reads {}",
                            states.cols(), head.cols()));
  if (!head.bias.empty())
    require_size("language", "the bias", std::ssize(head.bias), head.vocabulary());
  for (const ScoredSequence& sequence : sequences)
    for (const ScoredToken& token : sequence) {
      if (token.state < 0 || token.state >= states.rows())
        throw Error(ErrorKind::bad_shape,
                    fmt::format("language: state {} is asked for, there are {}",
                                token.state, states.rows()));
      if (token.token < 0 || token.token >= head.vocabulary())
        throw Error(ErrorKind::bad_value,
                    fmt::format("language: there is no token {}; the head has {}",
                                token.token, head.vocabulary()));
    }
}

// log sum exp over the vocabulary of `count` states from `first` on. Each block of logits
// is added to the sums of the blocks before it, all with one running maximum.
void normalise_block(const FloatMatrix& states, const VocabularyHead& head, Index first,
                     Index count, double* into) {
  const Index d = head.cols();
  std::vector<float> logits(at(count * std::min(kHeadTokens, head.vocabulary())));
  std::vector<double> largest(at(count), -HUGE_VAL), total(at(count), 0);
  for (Index w = 0; w < head.vocabulary(); w += kHeadTokens) {
    const Index width = std::min(kHeadTokens, head.vocabulary() - w);
    gemm(As::is, As::transposed, count, width, d, {states.data() + first * d, d},
         {head.weight.data() + w * d, d}, 0.0f, {logits.data(), width});
    for (Index i = 0; i < count; ++i) {
      float* row = logits.data() + i * width;
      if (!head.bias.empty())
        for (Index k = 0; k < width; ++k) row[k] += head.bias[at(w + k)];
      const float top = *std::max_element(row, row + width);
      if (top > largest[at(i)]) {
        total[at(i)] *= std::exp(largest[at(i)] - static_cast<double>(top));
        largest[at(i)] = top;
      }
      const auto base = static_cast<float>(largest[at(i)]);
      double sum = 0;
      for (Index k = 0; k < width; ++k) sum += static_cast<double>(std::exp(row[k] - base));
      total[at(i)] += sum;
    }
  }
  for (Index i = 0; i < count; ++i) into[i] = largest[at(i)] + std::log(total[at(i)]);
}

double logit(const FloatMatrix& states, const VocabularyHead& head,
             const ScoredToken& token) {
  const float* h = states.data() + token.state * head.cols();
  const float* w = head.weight.data() + static_cast<Index>(token.token) * head.cols();
  double sum = 0;
  for (Index j = 0; j < head.cols(); ++j) sum += static_cast<double>(h[j]) * w[j];
  return head.bias.empty() ? sum : sum + static_cast<double>(head.bias[at(token.token)]);
}

}  // namespace

std::vector<Index> first_sequences(const SentenceItems& items) {
  std::vector<Index> first;
  Index next = 0;
  for (const SentenceItem& item : items.items) {
    first.push_back(next);
    next += std::ssize(item.sentences);
  }
  return first;
}

SentencePlan plan_states(const LanguageModel& model, const SentenceItems& items) {
  PlanBuilder builder(model);
  for (const SentenceItem& item : items.items) {
    const std::size_t first = builder.plan().sequences.size();
    if (model.kind() == LanguageKind::causal) {
      plan_causal(model, item, builder);
    } else {
      plan_masked(model, item, items.source, builder);
    }
    if (items.source == SentenceSource::crows) builder.mark_unchanged(first, first + 1);
  }
  SentencePlan plan = builder.finish();
  note_left_out(items, plan);
  return plan;
}

SentencePlan plan_text(const LanguageModel& model, std::span<const std::string> lines) {
  PlanBuilder builder(model);
  for (const std::string& line : lines) {
    const TokenIds tokens = model.tokenizer().encode(line);
    const bool causal = model.kind() == LanguageKind::causal;
    const Index most = std::min(kPieceTokens, model.context() - (causal ? 1 : 2));
    for (Index first = 0; first < std::ssize(tokens); first += most) {
      const Index last = std::min(std::ssize(tokens), first + most);
      const TokenIds piece(tokens.begin() + first, tokens.begin() + last);
      if (causal) {
        builder.add_causal({model.first_token()}, piece);
      } else {
        builder.add_masked(piece);
      }
    }
  }
  return builder.finish();
}

PrefixStates prefix_states(const LanguageModel& model, SentencePlan plan,
                           const std::optional<fs::path>& folder, const Exec& exec) {
  PrefixStates result;
  result.sequences = std::move(plan.sequences);
  result.notes = std::move(plan.notes);
  const std::string key = hex(hash_of_plan(plan.states));
  fs::path file;
  if (folder) {
    file = *folder / fmt::format("states-{}-{}.fmd-features",
                                 model.backbone_hash().substr(0, 16), key.substr(0, 16));
    auto kept =
        read_states(file, model.backbone_hash(), key, plan.states.states(), model.cols());
    if (kept) {
      result.states = std::move(*kept);
      result.from_cache = true;
      return result;
    }
  }
  result.states = model.states(plan.states, exec);
  if (folder && result.states.rows() > 0) {
    std::error_code failed;
    fs::create_directories(*folder, failed);  // the writer says what is wrong
    write_states(file, model.name(), model.backbone_hash(), key, result.states);
  }
  return result;
}

FloatMatrix sentence_means(const LanguageModel& model, std::span<const std::string> lines,
                           const std::optional<fs::path>& folder, const Exec& exec) {
  FloatMatrix means(std::ssize(lines), model.cols());
  for (Index first = 0; first < std::ssize(lines); first += kMeanLines) {
    const Index count = std::min(kMeanLines, std::ssize(lines) - first);
    std::vector<TokenIds> tokens;
    for (Index i = first; i < first + count; ++i) {
      tokens.push_back(model.tokenizer().encode(lines[at(i)]));
      const auto size = std::ssize(tokens.back());
      if (size == 0 || size + 2 > model.context())
        throw Error(ErrorKind::bad_data,
                    fmt::format("language: line {} of the sentences has {} tokens, the "
                                "context of {} holds {}",
                                i + 1, size, model.name(), model.context()),
                    "leave out empty and long lines");
    }
    const std::string key = hex(hash_of_lines(tokens));
    fs::path file;
    std::optional<FloatMatrix> part;
    if (folder) {
      file = *folder / fmt::format("means-{}-{}.fmd-features",
                                   model.backbone_hash().substr(0, 16), key.substr(0, 16));
      part = read_states(file, model.backbone_hash(), key, count, model.cols());
    }
    if (!part) {
      part = means_of(model, tokens, exec);
      if (folder) {
        std::error_code failed;
        fs::create_directories(*folder, failed);  // the writer says what is wrong
        write_states(file, model.name(), model.backbone_hash(), key, *part);
      }
    }
    means.middleRows(first, count) = *part;
    exec.report("sentences", first + count, std::ssize(lines));
  }
  return means;
}

std::vector<double> log_normalisers(const FloatMatrix& states, const VocabularyHead& head,
                                    const Exec& exec) {
  check_head(states, {}, head);
  std::vector<double> result(at(states.rows()));
  std::atomic<Index> done = 0;
  exec.for_each((states.rows() + kHeadRows - 1) / kHeadRows, [&](Index b) {
    const Index first = b * kHeadRows, count = std::min(kHeadRows, states.rows() - first);
    normalise_block(states, head, first, count, result.data() + first);
    exec.report("scores", done += count, states.rows());
  });
  return result;
}

std::vector<std::vector<double>> token_log_probabilities(
    const FloatMatrix& states, std::span<const ScoredSequence> sequences,
    const VocabularyHead& head, const Exec& exec) {
  check_head(states, sequences, head);
  // Only the states that are used, in their order.
  std::vector<Index> place(at(states.rows()), -1), used;
  for (const ScoredSequence& sequence : sequences)
    for (const ScoredToken& token : sequence) place[at(token.state)] = 0;
  for (Index i = 0; i < states.rows(); ++i)
    if (place[at(i)] == 0) {
      place[at(i)] = std::ssize(used);
      used.push_back(i);
    }
  std::vector<double> normaliser;
  if (std::ssize(used) == states.rows()) {
    normaliser = log_normalisers(states, head, exec);
  } else {
    FloatMatrix some(std::ssize(used), states.cols());
    for (std::size_t i = 0; i < used.size(); ++i)
      some.row(static_cast<Index>(i)) = states.row(used[i]);
    normaliser = log_normalisers(some, head, exec);
  }
  std::vector<std::vector<double>> log_p(sequences.size());
  exec.for_each(block_count(std::ssize(sequences)), [&](Index b) {
    const Index last = std::min(std::ssize(sequences), (b + 1) * kBlockRows);
    for (Index s = b * kBlockRows; s < last; ++s)
      for (const ScoredToken& token : sequences[at(s)])
        log_p[at(s)].push_back(logit(states, head, token) -
                               normaliser[at(place[at(token.state)])]);
  });
  return log_p;
}

double perplexity(const std::vector<std::vector<double>>& log_p) {
  double sum = 0;
  Index tokens = 0;
  for (const std::vector<double>& sentence : log_p) {
    double of_sentence = 0;
    for (const double value : sentence) of_sentence += value;
    sum += of_sentence;
    tokens += std::ssize(sentence);
  }
  return tokens == 0 ? kUndefined : std::exp(-sum / static_cast<double>(tokens));
}

}  // namespace fmd
