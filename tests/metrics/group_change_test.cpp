#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/metrics/group.h"
#include "support/close.h"

namespace fmd {
namespace {

// 100 rows a group: rows 0-59 of each have a favourable label; group 0 is chosen in rows
// 0-49, group 1 in rows 0-29.
struct Before {
  Scored scored{.p = Matrix::Constant(200, 2, 0.5),
                .y = std::vector<std::int32_t>(200, 0),
                .decision = std::vector<std::int32_t>(200, 0),
                .favorable = 1};
  std::vector<std::int32_t> code = std::vector<std::int32_t>(200, 0);

  Before() {
    for (std::size_t i = 0; i < 200; ++i) {
      const std::size_t row = i % 100;
      code[i] = i < 100 ? 0 : 1;
      scored.y[i] = row < 60;
      scored.decision[i] = row < (i < 100 ? 50u : 30u);
    }
  }
};

TEST(GroupDifferenceChange, ByHand) {
  const Before b;
  Scored after = b.scored;
  for (std::size_t i = 130; i < 150; ++i)
    after.decision[i] = 1;  // 20 more of group 1, all labelled 1
  const auto change = [&](const char* rate) {
    return group_difference_change(b.scored, after, b.code, 0, 1, rate, 0.95, 2000, {});
  };
  EXPECT_CLOSE(change("selection_rate").value, -0.2, 1e-12);
  EXPECT_CLOSE(change("tpr").value, -20.0 / 60, 1e-12);
  EXPECT_EQ(change("fpr").value, 0);
  EXPECT_EQ(change("fpr").high, 0);
  EXPECT_CLOSE(change("accuracy").value, -0.2, 1e-12);
  // 20 of 100 rows change: the spread is that of a share of .2.
  const double error = std::sqrt(0.2 * 0.8 / 100);
  EXPECT_NEAR(change("selection_rate").low, -0.2 - 1.96 * error, 0.2 * error);
  EXPECT_NEAR(change("selection_rate").high, -0.2 + 1.96 * error, 0.2 * error);
}

TEST(GroupDifferenceChange, SwappingTheGroupsTurnsIt) {
  const Before b;
  Scored after = b.scored;
  for (std::size_t i = 20; i < 45; ++i) after.decision[i] = 0;
  const auto there = group_difference_change(b.scored, after, b.code, 0, 1,
                                             "selection_rate", 0.95, 500, {});
  const auto back = group_difference_change(b.scored, after, b.code, 1, 0, "selection_rate",
                                            0.95, 500, {});
  EXPECT_CLOSE(there.value, -0.25, 1e-12);
  EXPECT_EQ(there.value, -back.value);
}

TEST(GroupDifferenceChange, OfMeanScores) {
  const Before b;
  Scored after = b.scored;
  for (Index i = 0; i < 100; ++i) after.p.row(i) << 0.4, 0.6;
  const auto change =
      group_difference_change(b.scored, after, b.code, 0, 1, "mean_score", 0.95, 100, {});
  EXPECT_CLOSE(change.value, 0.1, 1e-12);
  EXPECT_CLOSE(change.low, 0.1, 1e-12);  // every row moves alike
}

TEST(GroupDifferenceChange, UndefinedWhereTheRateIsAboutNobody) {
  Before b;
  for (std::size_t i = 100; i < 200; ++i) b.scored.y[i] = 0;
  const auto change =
      group_difference_change(b.scored, b.scored, b.code, 0, 1, "tpr", 0.95, 100, {});
  EXPECT_FALSE(change.defined());
  b.scored.favorable = -1;
  EXPECT_FALSE(
      group_difference_change(b.scored, b.scored, b.code, 0, 1, "mean_score", 0.95, 9, {})
          .defined());
}

TEST(GroupDifferenceChange, WrongUseIsNamed) {
  const Before b;
  EXPECT_ERROR(
      group_difference_change(b.scored, b.scored, b.code, 0, 1, "ppv", 0.95, 9, {}),
      ErrorKind::bad_option, "rate is ppv");
  EXPECT_ERROR(
      group_difference_change(b.scored, b.scored, b.code, 1, 1, "tpr", 0.95, 9, {}),
      ErrorKind::bad_option, "another group");
}

}  // namespace
}  // namespace fmd
