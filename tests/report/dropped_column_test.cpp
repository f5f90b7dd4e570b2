#include "fmd/report/dropped_column.h"

#include <gtest/gtest.h>

namespace fmd {
namespace {

const Interval kRepaired{0.001, 0.0005, 0.002};

TEST(DroppedColumn, AsWellMeansNoLargerGapAndNoLowerAccuracyBeyondTheInterval) {
  const Interval same{-0.001, -0.003, 0.001}, lower{-0.01, -0.013, -0.007};
  EXPECT_TRUE(dropped_column("c", false, same, {0, 0, 0}, kRepaired).as_well);
  EXPECT_TRUE(dropped_column("c", false, same, {}, kRepaired).as_well) << "not read";
  EXPECT_FALSE(dropped_column("c", false, lower, {0, 0, 0}, kRepaired).as_well);
  EXPECT_FALSE(dropped_column("c", false, same, {0.05, 0.04, 0.06}, kRepaired).as_well);
}

TEST(DroppedColumn, TheLineSaysWhetherRetrainingIsNeeded) {
  const Interval same{-0.001, -0.003, 0.001}, lower{-0.01, -0.013, -0.007};
  const auto averaged = [&](const Interval& accuracy) {
    return dropped_column("column_averaged", false, accuracy, {0, 0, 0}, kRepaired);
  };
  const auto retrained = [&](const Interval& accuracy) {
    return dropped_column("retrained_without_column", true, accuracy, {}, kRepaired);
  };
  EXPECT_EQ(dropped_column_words({averaged(same), retrained(same)}, "the repair"),
            "Dropping the column does as well as the repair, averaged in the head, without "
            "retraining: accuracy -0.1 points (-0.3 .. +0.1).");
  EXPECT_EQ(dropped_column_words({averaged(lower), retrained(same)}, "solve"),
            "Dropping the column does as well as solve, but it needs retraining: accuracy "
            "-0.1 points (-0.3 .. +0.1).");
  EXPECT_EQ(dropped_column_words({averaged(lower)}, "the repair"),
            "Dropping the column does worse than the repair: averaged, accuracy -1.0 "
            "points (-1.3 .. -0.7).");
  EXPECT_EQ(dropped_column_words({}, "the repair"), "");
}

}  // namespace
}  // namespace fmd
