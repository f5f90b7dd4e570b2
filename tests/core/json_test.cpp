#include "core/json.h"

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

std::string nested(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

}  // namespace

TEST(Json, IsReadUpToTheStatedDepth) {
  EXPECT_TRUE(parse_json(nested(kMostNesting), "f").is_array());
  EXPECT_ERROR((void)parse_json(nested(kMostNesting + 1), "f"), ErrorKind::bad_model,
               "f: JSON is nested 65 deep, at most 64 is read");
  EXPECT_ERROR((void)parse_json(nested(100'000), "f"), ErrorKind::bad_model, "100000 deep");
  EXPECT_ERROR((void)parse_json(std::string(5'000'000, '['), "f"), ErrorKind::bad_model,
               "deep");
}

TEST(Json, BracketsInTextsAreNoLevels) {
  const std::string many(1000, '[');
  EXPECT_EQ(parse_json("\"" + many + "\\\"" + many + "\"", "f").get<std::string>(),
            many + "\"" + many);
}

TEST(Json, DamageNamesTheSource) {
  EXPECT_ERROR((void)parse_json("{\"a\": ", "m.receipt.json"), ErrorKind::bad_model,
               "m.receipt.json: damaged JSON");
  EXPECT_ERROR((void)parse_json("[1,]", "t", ErrorKind::bad_task), ErrorKind::bad_task,
               "t: damaged JSON");
}

TEST(Json, BytesThatAreNotUtf8AreWrittenAsText) {
  EXPECT_EQ(
      json_lines({{"file", "gr\xfc\xdf.csv"}, {"ok", {1, "ü"}}}),
      "{\n  \"file\": \"gr\\\\xfc\\\\xdf.csv\",\n  \"ok\": [\n    1,\n    \"ü\"\n  ]\n}\n");
}

}  // namespace fmd
