#include "fmd/language/sentence_pairs.h"

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

SwapWords gender() {
  return parse_swap_words("female,male\nshe,he\nher,his\nmother,father\n", "words.csv");
}

TEST(SentencePairs, WordsAreSwappedBothWaysAndKeepTheirCase) {
  const SwappedSentence found =
      swapped("She told HIS mother: 'she' isn't there, the sheep is.", gender());
  EXPECT_EQ(found.text, "He told HER father: 'he' isn't there, the sheep is.");
  EXPECT_EQ(found.words, 4);
  EXPECT_EQ(found.first, "she");
  EXPECT_EQ(swapped("Her mother's café", gender()).text, "His father's café");
  EXPECT_EQ(swapped(found.text, gender()).text,
            "She told HIS mother: 'she' isn't there, the sheep is.");
}

TEST(SentencePairs, ThreeGroupsGoRoundAndCanBeSetToOne) {
  const SwapWords words =
      parse_swap_words("a,b,c\nblack,white,asian\nafrica,europe,asia\n", "w.csv");
  EXPECT_EQ(swapped("Black people of Asia", words).text, "White people of Africa");
  EXPECT_EQ(of_group("Black people of Asia", words, 2).text, "Asian people of Asia");
}

TEST(SentencePairs, OnlyLinesWithAWordBecomePairs) {
  const SwappedText text =
      swapped_text("He  ran, \"fast\".\r\nNothing here\n\nmother\n", gender(), "text.txt");
  ASSERT_EQ(text.pairs.size(), 2U);
  EXPECT_EQ(text.lines, 4);
  EXPECT_EQ(text.without_word, 2);
  EXPECT_EQ(pairs_csv(text, "gender"),
            "id,domain,target,stereotype,anti_stereotype\n"
            "line1,gender,he,\"He ran, \"\"fast\"\".\",\"She ran, \"\"fast\"\".\"\n"
            "line4,gender,mother,mother,father\n");
}

TEST(SentencePairs, BadInputIsNamed) {
  EXPECT_ERROR(parse_swap_words("female\nshe\n", "w.csv"), ErrorKind::bad_data,
               "w.csv: there are fewer than two groups");
  EXPECT_ERROR(parse_swap_words("a,b\nshe,he and\n", "w.csv"), ErrorKind::bad_data,
               "w.csv, line 2: \"he and\" is not one word");
  EXPECT_ERROR(parse_swap_words("a,b\nshe,\n", "w.csv"), ErrorKind::bad_data,
               "the group b has no word");
  EXPECT_ERROR(swapped_text("fine\n\xff he\n", gender(), "text.txt"), ErrorKind::bad_value,
               "text.txt, line 2: this is not UTF-8");
  const SwapWords twice = parse_swap_words("a,b\nher,his\nher,him\n", "w.csv");
  ASSERT_EQ(twice.notes.size(), 1U);
  EXPECT_EQ(swapped("her", twice).text, "his");
}

}  // namespace
}  // namespace fmd
