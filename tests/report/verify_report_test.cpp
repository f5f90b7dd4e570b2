#include "fmd/report/verify_report.h"

#include <gtest/gtest.h>

#include "report/json_difference.h"

namespace fmd {
namespace {

JsonDifference difference(const char* claimed, const char* now, double tolerance = 1e-6) {
  JsonDifference found;
  add_differences("top", Json::parse(claimed), Json::parse(now), tolerance, found);
  return found;
}

TEST(JsonDifference, NumbersMayDifferByTheTolerance) {
  const auto close = difference(R"({"a": [1, 0.5], "b": 1e9})",
                                R"({"b": 1000000001, "a": [1, 0.5000001]})");
  EXPECT_EQ(close.differing, 0);
  EXPECT_EQ(close.compared, 3);
  EXPECT_NEAR(close.largest, 1e-7, 1e-12);
  const auto far = difference(R"({"a": [1, 0.5], "b": 2})", R"({"a": [1, 0.51], "b": 3})");
  EXPECT_EQ(far.differing, 2);
  EXPECT_EQ(far.first, "top.a[1]: the receipt says 0.5, now 0.51");
}

TEST(JsonDifference, AnythingElseMustBeTheSame) {
  EXPECT_EQ(difference(R"({"a": "x"})", R"({"a": "x"})").differing, 0);
  EXPECT_EQ(difference(R"({"a": "x"})", R"({"a": "y"})").differing, 1);
  EXPECT_EQ(difference(R"({"a": null})", R"({"a": 0})").differing, 1);
  EXPECT_EQ(difference(R"({"a": 1})", R"({"b": 1})").differing, 2);
  EXPECT_EQ(difference("[1, 2]", "[1]").differing, 1);
  EXPECT_EQ(difference("true", "1").differing, 1);
}

TEST(VerifyReport, TheVerdictNeedsMoreThanChecksums) {
  VerifyReport report;
  EXPECT_EQ(report.exit_code(), 3);
  report.checks.push_back({"model", CheckResult::ok, "has the recorded sha256"});
  EXPECT_EQ(report.exit_code(), 3);
  report.checks.push_back(
      {"repair", CheckResult::unchecked, "train.csv is not here", true});
  EXPECT_EQ(report.exit_code(), 3);
  EXPECT_NE(screen(sheet_of(report)).find("NOT ENOUGH"), std::string::npos);
  report.checks.push_back({"figures, test", CheckResult::ok, "12 numbers", true});
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_NE(screen(sheet_of(report)).find("could not be checked"), std::string::npos);
  report.checks.push_back({"undo", CheckResult::differs, "is of another model"});
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_NE(screen(sheet_of(report)).find("verdict: DIFFERS, 1 of 3 checked (exit 1)"),
            std::string::npos)
      << screen(sheet_of(report));
}

}  // namespace
}  // namespace fmd
