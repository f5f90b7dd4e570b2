#include "repair/paired_loss.h"

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "fmd/metrics/interval.h"

namespace fmd {
namespace {

TEST(PairedLoss, WithoutAnyChangeFewRowsProveLittle) {
  const double z = normal_quantile(0.9);  // one-sided .05
  for (const Index n : {20, 500, 30000})
    EXPECT_NEAR(most_loss(0, 0, n, 0.05), z * z / (static_cast<double>(n) + z * z), 1e-9);
}

TEST(PairedLoss, RiskOneHalfIsThePointEstimate) {
  EXPECT_DOUBLE_EQ(most_loss(12, 5, 1000, 0.5), 0.007);
  EXPECT_DOUBLE_EQ(most_loss(5, 12, 1000, 0.5), -0.007);
}

TEST(PairedLoss, LessRiskAndFewerRowsGiveALargerBound) {
  EXPECT_GT(most_loss(12, 5, 1000, 0.01), most_loss(12, 5, 1000, 0.05));
  EXPECT_GT(most_loss(12, 5, 1000, 0.05), most_loss(120, 50, 10000, 0.05));
  EXPECT_GT(most_loss(120, 50, 10000, 0.05), 0.007);
  EXPECT_LE(most_loss(20, 0, 20, 0.05), 1);
}

// 4,000 draws: the standard error of the share is .0034.
TEST(PairedLoss, TheTrueLossIsAboveTheBoundAboutAsOftenAsTheRiskSays) {
  Rng rng(7, "paired loss");
  for (const auto& [lost, gained] : {std::pair{0.03, 0.01}, {0.02, 0.02}, {0.01, 0.0}}) {
    int above = 0;
    for (int draw = 0; draw < 4000; ++draw) {
      Index b = 0, c = 0;
      for (int i = 0; i < 400; ++i) {
        const double u = rng.uniform();
        b += u < lost ? 1 : 0;
        c += u >= lost && u < lost + gained ? 1 : 0;
      }
      above += most_loss(b, c, 400, 0.05) < lost - gained ? 1 : 0;
    }
    EXPECT_LT(above / 4000.0, 0.065) << lost << " " << gained;
    EXPECT_GT(above / 4000.0, 0.01) << lost << " " << gained;
  }
}

}  // namespace
}  // namespace fmd
