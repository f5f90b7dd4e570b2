#include "fmd/model/loss.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/derivatives.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::numeric_gradient;
using test::random_vector;

TEST(Loss, ProbabilitiesSumToOneAndSurviveLargeLogits) {
  for (const double z : {0.0, 1.5, -40.0, 1000.0, -1000.0}) {
    std::vector<double> p(2);
    probabilities(std::vector{z}, p);
    EXPECT_CLOSE(p[0] + p[1], 1.0, 1e-15);
    EXPECT_TRUE(std::isfinite(p[0]) && std::isfinite(p[1]));
  }
  std::vector<double> p(3);
  probabilities(std::vector{1000.0, 0.0, -1000.0}, p);
  EXPECT_EQ(p, (std::vector{1.0, 0.0, 0.0}));
  probabilities(std::vector{2.0, 2.0, 2.0}, p);
  EXPECT_CLOSE(p, (std::vector{1.0 / 3, 1.0 / 3, 1.0 / 3}), 1e-15);
}

TEST(Loss, IsExactForLargeLogits) {
  EXPECT_EQ(log_loss(std::vector{1000.0}, 0), 1000);
  EXPECT_EQ(log_loss(std::vector{-1000.0}, 1), 1000);
  EXPECT_CLOSE(log_loss(std::vector{0.0}, 1), std::log(2.0), 1e-15);
  EXPECT_CLOSE(log_loss(std::vector{40.0}, 1), std::exp(-40.0), 1e-14);
  EXPECT_EQ(log_loss(std::vector{1000.0, 0.0, 0.0}, 1), 1000);
  EXPECT_CLOSE(log_loss(std::vector{40.0, 0.0}, 0), std::exp(-40.0), 1e-14);
}

TEST(Loss, GradientAndSlopeAgreeWithDifferences) {
  for (const Index outputs : {1, 2, 4}) {
    const Vector z = random_vector(outputs, 7);
    const auto n = static_cast<std::size_t>(outputs);
    for (std::int32_t y = 0; y < classes_of(outputs); ++y) {
      Vector dz(outputs);
      log_loss_gradient({z.data(), n}, y, {dz.data(), n});
      const auto loss = [&](const Vector& at) { return log_loss({at.data(), n}, y); };
      EXPECT_CLOSE(dz, numeric_gradient(loss, z), 1e-8);
    }
    const auto classes = static_cast<std::size_t>(classes_of(outputs));
    const auto p_of = [&](const Vector& at) -> Vector {
      Vector p(classes_of(outputs));
      probabilities({at.data(), n}, {p.data(), classes});
      return outputs == 1 ? Vector(p.tail(1)) : p;
    };
    const Vector u = random_vector(outputs, 8);
    Vector p(classes_of(outputs)), r(outputs);
    probabilities({z.data(), n}, {p.data(), classes});
    apply_softmax_slope({p.data(), classes}, {u.data(), n}, {r.data(), n});
    const Vector expected = (p_of(z + 1e-6 * u) - p_of(z - 1e-6 * u)) / 2e-6;
    EXPECT_CLOSE(r, expected, 1e-8);
  }
}

}  // namespace
}  // namespace fmd
