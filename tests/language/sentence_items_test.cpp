#include "fmd/language/sentence_items.h"

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/files.h"

namespace fmd {
namespace {

TEST(SentenceItems, ReadsStereosetsOwnFormat) {
  const SentenceItems items = read_sentence_items(test::kFiles / "lm/stereoset.json");
  EXPECT_EQ(items.source, SentenceSource::stereoset);
  ASSERT_EQ(items.items.size(), 6u);
  EXPECT_EQ(items.domains(), (std::vector<std::string>{"gender", "race"}));
  EXPECT_EQ(items.of_domain("race").items.size(), 3u);
  const SentenceItem& mother = items.items[0];
  EXPECT_EQ(mother.target, "mother");
  EXPECT_EQ(mother.find(SentenceRole::stereotype)->word, "gentle");
  EXPECT_EQ(mother.find(SentenceRole::unrelated)->id, "s0-2");
  EXPECT_TRUE(items.items[5].intersentence);
}

TEST(SentenceItems, ReadsSentencesGroupedByTheirLabel) {
  const SentenceItems items = parse_sentence_items(
      R"({"anti-stereotype": [{"id": "1", "bias_type": "race", "target": "Crimean",
            "context": "The Crimean was BLANK", "sentence": "The crimean was funny"}],
          "stereotype": [{"id": "1", "bias_type": "race", "target": "Crimean",
            "context": "The Crimean was BLANK", "sentence": "The crimean was rude"}]})",
      "by_label.json");
  ASSERT_EQ(items.items.size(), 1u);
  // Large and small letters may differ from the context.
  EXPECT_EQ(items.items[0].sentences[0].word, "rude");
  EXPECT_EQ(items.items[0].sentences[1].word, "funny");
  EXPECT_EQ(items.items[0].sentences[1].id, "1:anti-stereotype");
}

TEST(SentenceItems, ReadsCrowsPairs) {
  const SentenceItems items = read_sentence_items(test::kFiles / "lm/crows.csv");
  EXPECT_EQ(items.source, SentenceSource::crows);
  ASSERT_EQ(items.items.size(), 3u);
  EXPECT_EQ(items.items[0].sentences[0].text, "The mother was weak.");
  EXPECT_EQ(items.items[1].domain, "race-color");
  EXPECT_NE(items.items[0].target, items.items[1].target);
}

TEST(SentenceItems, ReadsPairsOfACsv) {
  const SentenceItems items = parse_sentence_items(
      "stereotype,anti_stereotype,domain\n\"She cooks, he works\",\"He cooks, she "
      "works\",gender\nsame,same,gender\n12,13,\n",
      "pairs.csv");
  EXPECT_EQ(items.source, SentenceSource::csv);
  ASSERT_EQ(items.items.size(), 2u);
  EXPECT_EQ(items.dropped, 1);
  ASSERT_EQ(items.notes.size(), 1u);
  EXPECT_NE(items.notes[0].find("both sentences are the same"), std::string::npos);
  EXPECT_EQ(items.items[1].sentences[0].text, "12");
  EXPECT_EQ(items.items[1].domain, "all");
}

TEST(SentenceItems, WhatCannotBeUsedIsNamed) {
  const auto parse = [](std::string_view text) { return parse_sentence_items(text, "f"); };
  EXPECT_ERROR(parse(""), ErrorKind::bad_data, "it has no items");
  EXPECT_ERROR(parse("[]"), ErrorKind::bad_data, "it has no items that can be used");
  EXPECT_ERROR(parse("{}"), ErrorKind::bad_data, "not in a format of StereoSet");
  EXPECT_ERROR(parse("{\"stereotype\": 3}"), ErrorKind::bad_data, "it is no list");
  EXPECT_ERROR(parse("a,b\n1,2\n"), ErrorKind::bad_data, "neither the columns of CrowS");
  EXPECT_ERROR(parse("stereotype,anti_stereotype\nonly one,\n"), ErrorKind::bad_data,
               "a side of the pair is empty");
  EXPECT_ERROR(parse("stereotype,anti_stereotype\n\xff,x\n"), ErrorKind::bad_value,
               "is not UTF-8");
  const std::string head =
      R"({"id": "1", "bias_type": "r", "target": "t", "context": "x BLANK", "sentence": "x y"})";
  EXPECT_ERROR(parse("{\"stereotype\": [" + head + "]}"), ErrorKind::bad_data,
               "has no sentence with the label anti-stereotype");
  EXPECT_ERROR(parse("{\"stereotype\": [" + head + "," + head + "]}"), ErrorKind::bad_data,
               "two sentences with the label stereotype");
  EXPECT_ERROR(parse(R"([{"id": "1", "bias_type": "r", "target": "t", "context": "x BLANK",
                 "sentences": [{"sentence": "x y", "gold_label": "good"}]}])"),
               ErrorKind::bad_data, "\"gold_label\" is \"good\"");
}

}  // namespace
}  // namespace fmd
