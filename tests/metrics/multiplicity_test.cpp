#include "fmd/metrics/multiplicity.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/metrics/interval.h"
#include "support/close.h"

namespace fmd {
namespace {

TEST(AdjustedPValues, ByHand) {
  const std::vector<double> p{0.01, kUndefined, 0.04, 0.03, 0.005};
  const auto h = holm(p), b = benjamini_hochberg(p);
  EXPECT_TRUE(std::isnan(h[1]) && std::isnan(b[1]));
  EXPECT_NEAR(h[4], 0.02, 1e-15);
  EXPECT_NEAR(h[0], 0.03, 1e-15);
  EXPECT_NEAR(h[3], 0.06, 1e-15);
  EXPECT_NEAR(h[2], 0.06, 1e-15);
  EXPECT_NEAR(b[4], 0.02, 1e-15);
  EXPECT_NEAR(b[0], 0.02, 1e-15);
  EXPECT_NEAR(b[3], 0.04, 1e-15);
  EXPECT_NEAR(b[2], 0.04, 1e-15);
  EXPECT_TRUE(holm({}).empty());
  EXPECT_ERROR(holm({1.5}), ErrorKind::bad_option, "p is 1.5");
  EXPECT_ERROR(benjamini_hochberg({-0.1}), ErrorKind::bad_option, "p is -0.1");
}

}  // namespace
}  // namespace fmd
