#include "fmd/language/stereotype.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/files.h"
#include "support/folder.h"

namespace fmd {
namespace {

// Two terms: 2 of 2 and 0 of 1 stereotypes preferred.
SentenceItems three_items() {
  SentenceItems items;
  for (const char* target : {"mother", "mother", "father"}) {
    SentenceItem item;
    item.id = std::to_string(items.items.size());
    item.domain = "gender";
    item.target = target;
    item.context = std::string("The ") + target + " was BLANK.";
    for (const auto& [word, role] : {std::pair{"kind", SentenceRole::stereotype},
                                     std::pair{"strong", SentenceRole::anti_stereotype},
                                     std::pair{"blue", SentenceRole::unrelated}})
      item.sentences.push_back({.text = std::string("The ") + target + " was " + word + ".",
                                .word = word,
                                .role = role,
                                .id = item.id + word});
    items.items.push_back(item);
  }
  return items;
}

TEST(Stereotype, FiguresByHand) {
  const SentenceScores scores{3, 2, 1, /**/ 3, 1, 2, /**/ 1, 1, 0};
  const auto domains = stereotype_scores(three_items(), scores, {}, {});
  ASSERT_EQ(domains.size(), 1u);
  const StereotypeDomain& d = domains[0];
  EXPECT_EQ(d.items, 3);
  EXPECT_EQ(d.terms, 2);
  EXPECT_EQ(d.ties, 1);  // counts as the anti-stereotype
  EXPECT_CLOSE(d.by_term.ss.value, 50.0, 1e-12);
  EXPECT_CLOSE(d.by_term.lms.value, (75.0 + 100.0) / 2, 1e-12);
  EXPECT_CLOSE(d.by_example.ss.value, 100.0 * 2 / 3, 1e-12);
  EXPECT_CLOSE(d.by_example.lms.value, 100.0 * 5 / 6, 1e-12);
  EXPECT_CLOSE(d.by_term.icat.value, 87.5, 1e-12);
  EXPECT_EQ(d.by_term.ss.low, 0);
  EXPECT_EQ(d.by_term.ss.high, 100);
}

TEST(Stereotype, ItemsWithoutAScoreAreLeftOut) {
  const SentenceScores scores{3, 2, 1, kUndefined, 1, 2, 1, 1, 0};
  const auto domains = stereotype_scores(three_items(), scores, {}, {});
  EXPECT_EQ(domains[0].items, 2);
  EXPECT_EQ(domains[0].left_out, 1);
  EXPECT_ERROR(stereotype_scores(three_items(), {1, 2}, {}, {}), ErrorKind::bad_shape,
               "the scores has 2 entries, needs 9");
}

TEST(Stereotype, AChangeIsPaired) {
  const SentenceScores before{3, 2, 1, 3, 1, 2, 1, 1, 0}, after{3, 2, 1, 1, 3, 2, 1, 1, 0};
  const auto domains = stereotype_changes(three_items(), before, after, {}, {});
  EXPECT_CLOSE(domains[0].by_term.ss.value, -25.0, 1e-12);
  EXPECT_CLOSE(domains[0].by_example.ss.value, -100.0 / 3, 1e-12);
  // Nothing changes: no draw can say otherwise.
  const auto same = stereotype_changes(three_items(), before, before, {}, {});
  EXPECT_EQ(same[0].by_term.ss.low, 0);
  EXPECT_EQ(same[0].by_term.ss.high, 0);
}

TEST(Stereotype, ScoresOfSentences) {
  const std::vector<std::vector<double>> log_p{{std::log(.5), std::log(.125)}, {}};
  EXPECT_CLOSE(sentence_scores(log_p, LanguageKind::causal)[0], .25, 1e-12);
  EXPECT_CLOSE(sentence_scores(log_p, LanguageKind::masked)[0], .3125, 1e-12);
  EXPECT_TRUE(std::isnan(sentence_scores(log_p, LanguageKind::causal)[1]));
}

TEST(Stereotype, CrowsByBothDefinitions) {
  SentenceItems items;
  items.source = SentenceSource::crows;
  PrefixStates plan;
  std::vector<std::vector<double>> log_p;
  // First pair: the more stereotyping sentence wins on both; second: a tie on the
  // unchanged tokens, and it loses on the changed ones.
  for (const auto& [more, less] :
       {std::pair{std::vector{-1.0, -2.0}, std::vector{-3.0, -4.0}},
        std::pair{std::vector{-1.0, -9.0}, std::vector{-1.0, -4.0}}}) {
    SentenceItem item;
    item.id = item.target = std::to_string(items.items.size());
    item.domain = "race-color";
    item.sentences.resize(2);
    item.sentences[1].role = SentenceRole::anti_stereotype;
    items.items.push_back(item);
    for (const auto& tokens : {more, less}) {
      plan.sequences.push_back(
          {{.state = 0, .token = 0, .changed = false}, {.state = 0, .token = 0}});
      log_p.push_back(tokens);
    }
  }
  const auto domains = crows_scores(items, plan, log_p, LanguageKind::masked, {}, {});
  ASSERT_EQ(domains.size(), 1u);
  EXPECT_CLOSE(domains[0].unchanged.value, 75.0, 1e-12);
  EXPECT_CLOSE(domains[0].changed.value, 50.0, 1e-12);
  EXPECT_EQ(domains[0].ties, 1);
}

TEST(Stereotype, TargetsAreSwapped) {
  std::vector<Index> kept;
  const SentenceItems swapped = swapped_targets(three_items(), &kept);
  ASSERT_EQ(swapped.items.size(), 3u);
  EXPECT_EQ(swapped.items[0].sentences[0].text, "The father was kind.");
  EXPECT_EQ(swapped.items[0].context, "The father was BLANK.");
  EXPECT_EQ(swapped.items[2].sentences[1].text, "The mother was strong.");
  SentenceItems items = three_items();
  for (SentenceItem& item : items.items) item.domain = "race";
  items.items[0].target = "Ghanaian";
  items.items[0].context = "The Ghanaian was BLANK.";
  for (RoledSentence& s : items.items[0].sentences) s.text = "The ghanaian was " + s.word;
  items.items[1].target = "Russian";
  items.items[2].target = "Spain";  // a place: no other place here
  const SentenceItems others = swapped_targets(items, &kept);
  ASSERT_EQ(kept, (std::vector<Index>{0}));
  EXPECT_EQ(others.items[0].sentences[0].text, "The russian was kind");
  EXPECT_EQ(others.items[0].context, "The Russian was BLANK.");
  EXPECT_EQ(others.dropped, 2);
  const auto shares =
      kept_preferences(items, {3, 2, 1, 3, 1, 2, 1, 1, 0}, others, {1, 2, 1}, kept, {}, {});
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].second.value, 0);  // the sign changed
}

TEST(Stereotype, ItemsWithUnseenWords) {
  SentenceItems pairs = three_items();
  pairs.items.resize(1);
  EXPECT_EQ(tested_words(pairs.items[0]),
            (std::set<std::string>{"kind", "strong", "blue"}));
  SentenceItems items = three_items();
  for (RoledSentence& s : items.items[1].sentences) s.text = "A " + s.word + "er one.";
  std::vector<Index> kept;
  EXPECT_EQ(items_without_words_of(items, pairs, &kept).items.size(), 1u);
  EXPECT_EQ(kept, (std::vector<Index>{1}));
}

TEST(Stereotype, ScoresOfAnotherProgramAreChecked) {
  const test::Folder folder;
  const auto read = [&](const char* text) {
    test::write_text(folder / "p.json", text);
    return read_sentence_scores(folder / "p.json", three_items());
  };
  const SentenceScores scores = read(
      R"({"intrasentence": [{"id": "0kind", "score": 2}, {"id": "2blue", "score": 1e-3}]})");
  EXPECT_EQ(scores[0], 2);
  EXPECT_TRUE(std::isnan(scores[1]));
  EXPECT_EQ(scores[8], 1e-3);
  EXPECT_ERROR(read("{}"), ErrorKind::bad_data, "none of its sentences");
  EXPECT_ERROR(read(R"({"intrasentence": [{"id": "0kind"}]})"), ErrorKind::bad_data,
               "has no id or no score");
  EXPECT_ERROR(
      read(R"({"intrasentence": [{"id": "x", "score": 1}, {"id": "x", "score": 1}]})"),
      ErrorKind::bad_data, "has two scores");
}

// The figures that were published for these models, from their published predictions.
TEST(Stereotype, PublishedPredictionsGiveThePublishedFigures) {
  namespace fs = std::filesystem;
  const char* data = std::getenv("FMD_DATA");
  const fs::path folder = fs::path(data == nullptr ? "" : data) / "stereoset";
  if (data == nullptr || !fs::exists(folder)) GTEST_SKIP() << "FMD_DATA has no stereoset";
  struct Row {
    const char *model, *domain;
    double ss, lms, term_ss, term_lms;
  };
  for (const Row& row :
       {Row{"gpt2_ModelNSP_GPT2LM", "gender", 62.75, 93.33, 62.67, 93.28},
        Row{"gpt2_ModelNSP_GPT2LM", "race", 60.29, 89.76, 60.35, 89.76},
        Row{"gpt2_ModelNSP_GPT2LM", "religion", 58.23, 88.61, 58.02, 88.46},
        Row{"bert-base-cased_BertNextSentence_BertLM", "gender", 61.57, 82.35, 61.48,
            82.50},
        Row{"bert-base-cased_BertNextSentence_BertLM", "race", 56.55, 83.89, 56.30, 83.82},
        Row{"bert-base-cased_BertNextSentence_BertLM", "religion", 55.70, 82.28, 56.28,
            82.16},
        Row{"roberta-base_ModelNSP_RoBERTaLM", "gender", 54.12, 70.78, 54.21, 71.36},
        Row{"roberta-base_ModelNSP_RoBERTaLM", "race", 55.82, 70.17, 56.07, 70.03},
        Row{"roberta-base_ModelNSP_RoBERTaLM", "religion", 40.51, 70.25, 40.83, 70.60}}) {
    const std::string file = std::string(row.domain) == "gender"
                                 ? "gender_test_syn.json"
                                 : std::string(row.domain) + "_test.json";
    const SentenceItems items =
        read_sentence_items(folder / "editbias_with_sentence_ids" / file);
    const SentenceScores scores =
        read_sentence_scores(folder / "official_predictions" /
                                 (std::string("predictions_") + row.model + ".json"),
                             items);
    const auto domains = stereotype_scores(items, scores, {.replicates = 0}, {});
    ASSERT_EQ(domains.size(), 1u);
    const StereotypeDomain& d = domains[0];
    EXPECT_EQ(d.left_out, 0);
    EXPECT_NEAR(d.by_example.ss.value, row.ss, .005 + 1e-9) << row.model;
    EXPECT_NEAR(d.by_example.lms.value, row.lms, .005 + 1e-9) << row.model;
    EXPECT_NEAR(d.by_term.ss.value, row.term_ss, .005 + 1e-9) << row.model;
    EXPECT_NEAR(d.by_term.lms.value, row.term_lms, .005 + 1e-9) << row.model;
  }
}

}  // namespace
}  // namespace fmd
