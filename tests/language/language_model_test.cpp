#include "fmd/language/language_model.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/rng.h"
#include "fmd/language/prefix_states.h"
#include "fmd/language/sentence_items.h"
#include "support/close.h"
#include "support/files.h"
#include "support/folder.h"

namespace fmd {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
const fs::path kModels = test::kFiles / "lm";

SentenceItems part_of(SentenceItems items, bool intersentence) {
  std::erase_if(items.items, [&](const SentenceItem& item) {
    return item.intersentence != intersentence;
  });
  return items;
}

void expect_probabilities(const LanguageModel& model, const SentenceItems& items,
                          const Json& golden) {
  const PrefixStates states = prefix_states(model, plan_states(model, items), {}, {});
  const auto log_p =
      token_log_probabilities(states.states, states.sequences, model.head(), {});
  ASSERT_EQ(log_p.size(), golden.size());
  for (std::size_t s = 0; s < log_p.size(); ++s)
    EXPECT_CLOSE(log_p[s], golden[s].get<std::vector<double>>(), 1e-5);
}

// A copy of a model's folder that a test changes.
struct ModelCopy {
  explicit ModelCopy(const char* kind) {
    for (const auto& entry : fs::directory_iterator(kModels / kind))
      fs::copy_file(entry.path(), folder / entry.path().filename().string());
  }
  void change(const char* name, const std::function<void(Json&)>& edit) const {
    Json json = Json::parse(test::read_text(folder / name));
    edit(json);
    test::write_text(folder / name, json.dump());
  }
  [[nodiscard]] LanguageModel open() const { return LanguageModel::open(folder.path()); }
  test::Folder folder;
};

TEST(LanguageModel, NativeLlamaAgreesWithTransformers) {
  const LanguageModel model = LanguageModel::open(kModels / "llama");
  EXPECT_TRUE(model.native());
  EXPECT_EQ(model.kind(), LanguageKind::causal);
  EXPECT_FALSE(model.head().tied);
  EXPECT_EQ(model.head().cols(), 24);
  const Json golden = Json::parse(test::read_text(kModels / "llama/golden.json"));
  const SentenceItems items = read_sentence_items(kModels / "stereoset.json");
  expect_probabilities(model, part_of(items, false), golden.at("stereoset"));
  expect_probabilities(model, part_of(items, true), golden.at("intersentence"));
  expect_probabilities(model, read_sentence_items(kModels / "crows.csv"),
                       golden.at("crows"));
}

TEST(LanguageModel, SharedPrefixesAreOneState) {
  const LanguageModel model = LanguageModel::open(kModels / "llama");
  const SentenceItems items =
      part_of(read_sentence_items(kModels / "stereoset.json"), false);
  const SentencePlan plan = plan_states(model, items);
  Index tokens = 0;
  for (const ScoredSequence& sequence : plan.sequences) tokens += std::ssize(sequence);
  EXPECT_LT(plan.states.states(), tokens);
  // The first token of every sentence follows the same state.
  for (const ScoredSequence& sequence : plan.sequences) EXPECT_EQ(sequence[0].state, 0);
  // One sentence alone gives the same states as all together, up to the last bits of
  // products of another size.
  SentenceItems one = items;
  one.items.resize(1);
  const FloatMatrix all = model.states(plan.states, {}),
                    alone = model.states(plan_states(model, one).states, {});
  EXPECT_CLOSE(alone, all.topRows(alone.rows()), 1e-5);
}

TEST(LanguageModel, ThreadsDoNotChangeABit) {
  const LanguageModel model = LanguageModel::open(kModels / "llama");
  const SentencePlan plan =
      plan_states(model, read_sentence_items(kModels / "stereoset.json"));
  ThreadPool pool(3);
  const FloatMatrix one = model.states(plan.states, {}),
                    many = model.states(plan.states, {.pool = &pool});
  EXPECT_EQ(one, many);
  EXPECT_EQ(token_log_probabilities(one, plan.sequences, model.head(), {}),
            token_log_probabilities(one, plan.sequences, model.head(), {.pool = &pool}));
}

// The normaliser is a sum over blocks of tokens; a plain one in double must agree.
TEST(LanguageModel, ProbabilitiesSumToOne) {
  Rng rng(5, "head");
  const auto random = [&](Index rows, Index cols) {
    FloatMatrix m(rows, cols);
    for (Index i = 0; i < m.size(); ++i) m.data()[i] = static_cast<float>(rng.normal());
    return m;
  };
  VocabularyHead head;
  head.weight = random(9000, 12);
  for (Index i = 0; i < 9000; ++i) head.bias.push_back(static_cast<float>(rng.normal()));
  const FloatMatrix states = random(300, 12);
  const std::vector<double> normaliser = log_normalisers(states, head, {});
  for (const Index i : {0, 17, 299}) {
    double sum = 0;
    for (Index w = 0; w < 9000; ++w)
      sum += std::exp(states.row(i).cast<double>().dot(head.weight.row(w).cast<double>()) +
                      static_cast<double>(head.bias[static_cast<std::size_t>(w)]));
    EXPECT_CLOSE(normaliser[static_cast<std::size_t>(i)], std::log(sum), 1e-6);
  }
  const std::vector<ScoredSequence> wrong{{{.state = 300, .token = 0}}};
  EXPECT_ERROR(token_log_probabilities(states, wrong, head, {}), ErrorKind::bad_shape,
               "state 300 is asked for");
}

TEST(LanguageModel, StatesAreKeptAndFoundAgain) {
  const ModelCopy copy("llama");
  const test::Folder cache;
  const SentenceItems items = read_sentence_items(kModels / "stereoset.json");
  const auto states_of = [&](const LanguageModel& model) {
    return prefix_states(model, plan_states(model, items), cache.path(), {});
  };
  const PrefixStates first = states_of(copy.open());
  EXPECT_FALSE(first.from_cache);
  const PrefixStates again = states_of(copy.open());
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(first.states, again.states);
  // Another backbone is not taken for this one.
  copy.change("config.json", [](Json& c) { c["rms_norm_eps"] = 1e-4; });
  EXPECT_FALSE(states_of(copy.open()).from_cache);
  // A damaged file is made again.
  for (const auto& entry : fs::directory_iterator(cache.path()))
    fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
  EXPECT_FALSE(states_of(copy.open()).from_cache);
  EXPECT_TRUE(states_of(copy.open()).from_cache);
}

TEST(LanguageModel, MeansOfSentences) {
  const LanguageModel model = LanguageModel::open(kModels / "llama");
  const test::Folder cache;
  const std::vector<std::string> lines{"The tall nurse", "The tall nurse was strong.",
                                       "A girl"};
  const FloatMatrix means = sentence_means(model, lines, cache.path(), {});
  for (Index i = 0; i < 3; ++i) {
    StatePlan plan{.nodes = {{-1, model.first_token()}}, .inputs = {}, .position = {}};
    for (const TokenId id : model.tokenizer().encode(lines[static_cast<std::size_t>(i)]))
      plan.nodes.push_back({plan.states() - 1, id});
    const FloatMatrix states = model.states(plan, {});
    const Matrix mean =
        states.bottomRows(states.rows() - 1).cast<double>().colwise().mean();
    EXPECT_CLOSE(Matrix(means.row(i).cast<double>()), mean, 1e-6);
  }
  EXPECT_EQ(sentence_means(model, lines, cache.path(), {}), means);  // from the file
  EXPECT_EQ(sentence_means(model, lines, std::nullopt, {}), means);
  EXPECT_ERROR(sentence_means(model, std::vector<std::string>{"a", ""}, {}, {}),
               ErrorKind::bad_data, "line 2 of the sentences has 0 tokens");
}

TEST(LanguageModel, MissingAndForeignPiecesAreNamed) {
  {
    const ModelCopy copy("llama");
    fs::remove(copy.folder / "model-00002-of-00003.safetensors");
    EXPECT_ERROR(copy.open(), ErrorKind::bad_model,
                 "names the shard model-00002-of-00003.safetensors, which is not there");
  }
  {
    const ModelCopy copy("llama");
    copy.change("model.safetensors.index.json",
                [](Json& index) { index["weight_map"]["model.norm.weight"] = "../x"; });
    EXPECT_ERROR(copy.open(), ErrorKind::bad_model, "not a plain name");
  }
  {
    const ModelCopy copy("llama");
    copy.change("config.json", [](Json& c) { c["vocab_size"] = 100; });
    EXPECT_ERROR(copy.open(), ErrorKind::bad_model, "needs 100 x 24");
  }
  {
    const ModelCopy copy("llama");
    copy.change("tokenizer.json", [](Json& t) { t["model"]["vocab"]["much"] = 5000; });
    EXPECT_ERROR(copy.open(), ErrorKind::wrong_model, "the tokenizer has 5001 tokens");
  }
  {
    const ModelCopy copy("bert");
    fs::copy_file(kModels / "llama/tokenizer.json", copy.folder / "tokenizer.json",
                  fs::copy_options::overwrite_existing);
    EXPECT_ERROR(copy.open(), ErrorKind::wrong_model, "the tokenizer has");
  }
  {
    const ModelCopy copy("llama");
    fs::copy_file(kModels / "bert/tokenizer.json", copy.folder / "tokenizer.json",
                  fs::copy_options::overwrite_existing);
    EXPECT_ERROR(copy.open(), ErrorKind::wrong_model, "it is that of another model");
    copy.change("tokenizer.json", [](Json& t) {
      for (int k = 0; k < 100; ++k)
        t["model"]["vocab"]["more" + std::to_string(k)] = 252 + k;
    });
    EXPECT_ERROR(copy.open(), ErrorKind::wrong_model, "that of a masked model");
  }
  {
    const ModelCopy copy("gpt2");
    copy.change("config.json", [](Json& c) { c = Json{{"model_type", "mamba"}}; });
    EXPECT_ERROR(copy.open(), ErrorKind::unsupported, "models of the type \"mamba\"");
  }
  {
    const ModelCopy copy("gpt2");
    fs::remove(copy.folder / "backbone.onnx");
    EXPECT_ERROR(copy.open(), ErrorKind::bad_model, "there is no backbone.onnx");
  }
  {
    const ModelCopy copy("gpt2");
    copy.change("config.json", [](Json& c) { c["model_type"] = "t5"; });
    EXPECT_ERROR(copy.open(), ErrorKind::unsupported, "models of the type \"t5\"");
  }
  const test::Folder folder;
  test::write_text(folder / "a.gguf", std::string("GGUF\3\0\0\0", 8));
  EXPECT_ERROR(LanguageModel::open(folder / "a.gguf"), ErrorKind::unsupported,
               "GGUF files are not read");
  test::write_text(folder / "a.bin", std::string(40, '\1'));
  EXPECT_ERROR(LanguageModel::open(folder / "a.bin"), ErrorKind::bad_model,
               "no model of llama2.c");
  EXPECT_ERROR(LanguageModel::open("/no/such/model"), ErrorKind::cannot_read, "no/such");
}

TEST(LanguageModel, ASentenceLongerThanTheContextIsNamed) {
  const LanguageModel model = LanguageModel::open(kModels / "llama");
  SentenceItems items = read_sentence_items(kModels / "crows.csv");
  items.items[1].sentences[0].text = std::string(300, 'x');
  EXPECT_ERROR(plan_states(model, items), ErrorKind::bad_value,
               "item \"crows-1\": a sentence has");
  const StatePlan plan{.nodes = {{-1, 0}, {0, 100000}}, .inputs = {}, .position = {}};
  EXPECT_ERROR(model.states(plan, {}), ErrorKind::bad_value, "there is no token 100000");
}

// Real trained weights: what the model writes when it always takes the likeliest token.
TEST(LanguageModel, Stories260KWritesItsStory) {
  const char* data = std::getenv("FMD_DATA");
  const fs::path file =
      fs::path(data == nullptr ? "" : data) / "lm_stories260K/stories260K.bin";
  if (data == nullptr || !fs::exists(file)) GTEST_SKIP() << "FMD_DATA has no stories260K";
  const LanguageModel model = LanguageModel::open(file);
  TokenIds tokens{model.first_token()};
  while (tokens.size() < 40) {
    StatePlan plan;
    for (std::size_t k = 0; k < tokens.size(); ++k)
      plan.nodes.push_back({static_cast<Index>(k) - 1, tokens[k]});
    const FloatMatrix states = model.states(plan, {});
    const Eigen::VectorXf logits =
        model.head().weight * states.row(states.rows() - 1).transpose();
    Index best = 0;
    logits.maxCoeff(&best);
    tokens.push_back(static_cast<TokenId>(best));
  }
  const std::string text = model.tokenizer().decode(tokens, true);
  EXPECT_TRUE(
      text.starts_with("Once upon a time, there was a little girl named Lily. She "
                       "loved to play outside in the park."))
      << text;
  EXPECT_EQ(model.tokenizer().encode("Once upon a time"),
            (TokenIds{tokens.begin() + 1, tokens.begin() + 5}));
}

}  // namespace
}  // namespace fmd
