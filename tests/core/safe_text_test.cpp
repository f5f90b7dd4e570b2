#include "fmd/core/safe_text.h"

#include <gtest/gtest.h>

namespace fmd {

TEST(SafeText, LeavesWhatPeopleWrite) {
  for (const char* text :
       {"", "Male", "a b", "\\n", "Grüße", "日本語", "👩🏽", "x=1; \"q\""})
    EXPECT_EQ(safe_text(text), text);
}

TEST(SafeText, NothingMovesTheCursorOrBeginsALine) {
  EXPECT_EQ(safe_text("a\nlimits PASS"), "a\\nlimits PASS");
  EXPECT_EQ(safe_text("\x1b[31m\a\r\t\x7f"), "\\x1b[31m\\x07\\r\\t\\x7f");
  EXPECT_EQ(safe_text("\u009b2J"), "\\x9b2J");               // C1: ESC [ in one character
  EXPECT_EQ(safe_text("\u2028x\u2029"), "\\u2028x\\u2029");  // line separators
  EXPECT_EQ(safe_text(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(SafeText, NothingReordersOrHides) {
  EXPECT_EQ(safe_text("\u202eSSAP"), "\\u202eSSAP");
  EXPECT_EQ(safe_text("\u2066a\u2069"), "\\u2066a\\u2069");
  EXPECT_EQ(safe_text("Ma\u200ble"), "Ma\\u200ble");
  EXPECT_EQ(safe_text("\ufeffsex"), "\\ufeffsex");
  EXPECT_EQ(safe_text("\U000E0041"), "\\U000e0041");
}

TEST(SafeText, BytesThatAreNotUtf8AreShown) {
  EXPECT_EQ(safe_text("\xff"), "\\xff");
  EXPECT_EQ(safe_text("\xc3"), "\\xc3");                    // cut short
  EXPECT_EQ(safe_text("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(safe_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(safe_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(valid_utf8("f\xfc.csv\n"), "f\\xfc.csv\n");
}

TEST(SafeText, LinesStay) { EXPECT_EQ(safe_lines("a\nb\x1b"), "a\nb\\x1b"); }

}  // namespace fmd
