#include "fmd/repro/coverage.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/repro/coverage_page.h"
#include "support/close.h"

namespace fmd {
namespace {

// A small form of the whole simulation. With 60 draws an interval that should hold in 95 of
// 100 samples holds in fewer than 50 of them once in 2,000 simulations.
TEST(CoverageSlow, IntervalsHoldWhatTheySay) {
  const CoverageOptions options{.draws = 60, .rows = {600}, .replicates = 200};
  for (const char* population : {"alike", "two"}) {
    CoverageSetting setting{population, 600, 0, {}};
    add_draws(setting, options.draws, options, {});
    // Where all groups are alike no flip changes a score: there is nothing to cover.
    EXPECT_EQ(setting.figures.contains("co"), std::string(population) != "alike");
    for (const char* name :
         {"demographic_parity", "equalized_odds", "equalized_odds_difference",
          "equalized_odds_ratio", "average_abs_odds_difference", "differential_fairness",
          "subgroup_selection", "abroca", "worst_group_accuracy", "accuracy_difference",
          "disparate_impact", "f1_difference", "balanced_accuracy_difference",
          "selection_ratio", "selection_rate of a group",
          "statistical_parity_difference"}) {
      const CoveredFigure& figure = setting.figures[name];
      ASSERT_GE(figure.intervals, 50) << name;
      EXPECT_GE(static_cast<double>(figure.inside) / static_cast<double>(figure.intervals),
                50. / 60)
          << name << " in " << population;
    }
  }
}

TEST(Coverage, GoesOnWhereItStopped) {
  const CoverageOptions options{.draws = 6, .rows = {300}, .replicates = 50};
  CoverageSetting whole{"five", 300, 0, {}}, parts = whole;
  add_draws(whole, 6, options, {});
  add_draws(parts, 2, options, {});
  const std::vector<CoverageSetting> stopped =
      parse_coverage(to_json({parts}, 1), "journal", 1);
  parts = stopped[0];
  EXPECT_EQ(parts.draws, 2);
  add_draws(parts, 6, options, {});
  EXPECT_EQ(to_json({whole}, 1), to_json({parts}, 1));
  EXPECT_THROW((void)parse_coverage(to_json({parts}, 1), "journal", 2), Error);
  const std::string page = coverage_page({whole}, options, 1);
  EXPECT_NE(page.find("| demographic_parity | largest |"), std::string::npos);
  EXPECT_NE(page.find("6 draws of 300 rows of five"), std::string::npos);
}

TEST(Coverage, JudgesBySharesAndTheirError) {
  EXPECT_TRUE(covers({CoverageKind::mean, 1900, 2000}));
  EXPECT_FALSE(covers({CoverageKind::mean, 1990, 2000}));
  EXPECT_FALSE(covers({CoverageKind::mean, 1700, 2000}));
  EXPECT_TRUE(covers({CoverageKind::largest, 1990, 2000}));
  EXPECT_FALSE(covers({CoverageKind::largest, 1800, 2000}));
  EXPECT_TRUE(covers({CoverageKind::quantile, 2000, 2000}));
  EXPECT_FALSE(covers({CoverageKind::quantile, 1800, 2000}));
  // A share that the error of the simulation excuses is named.
  CoverageSetting setting{"five", 600, 2000, {}};
  setting.figures["near"] = {CoverageKind::mean, 1850, 2000};
  setting.figures["good"] = {CoverageKind::mean, 1900, 2000};
  const std::string page = coverage_page({setting}, {}, 1);
  EXPECT_NE(page.find("2 of 2 shares are as they should be; 1 of these lie outside by less "
                      "than the error of the simulation: near (five, 600) 92.5."),
            std::string::npos);
}

}  // namespace
}  // namespace fmd
