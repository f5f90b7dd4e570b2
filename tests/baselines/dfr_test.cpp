#include "fmd/baselines/dfr.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

// The group decides the label in nearly all rows. In balanced rows it says nothing about
// the label, and only the other feature does.
TEST(Dfr, LosesASpuriousFeature) {
  Rng rng(1, "dfr");
  std::vector<float> values;
  std::vector<std::int32_t> y, group;
  for (int i = 0; i < 3000; ++i) {
    y.push_back(static_cast<std::int32_t>(rng.below(2)));
    group.push_back(rng.uniform() < 0.95 ? y.back() : 1 - y.back());
    values.push_back(static_cast<float>(1.5 * (y.back() - 0.5) + rng.normal()));
    values.push_back(static_cast<float>(group.back()));
  }
  const auto X = make_dense(values, 3000, 2);
  const Rows rows{X.get(), y, {}, {}};
  const Vector theta = fit_dfr(LinearHead(2, 1), rows, group, {.C = 0.1, .draws = 10}, {});
  EXPECT_GT(theta[0], 1);
  EXPECT_LT(std::abs(theta[1]), 0.25);
  const std::vector<double> C = {1, 0.1};
  const auto path = fit_dfr(LinearHead(2, 1), rows, group, C, 10, {});
  EXPECT_CLOSE(path[1], theta, 1e-4);
  ThreadPool pool(2);
  EXPECT_EQ(fit_dfr(LinearHead(2, 1), rows, group, C, 10, {.pool = &pool})[1], path[1]);
  const std::vector<std::int32_t> ones(3000, 1);
  EXPECT_ERROR(fit_dfr(LinearHead(2, 1), Rows{X.get(), ones, {}, {}}, group, {}, {}),
               ErrorKind::bad_data, "no row has label 0");
}

// A third group of three rows would leave three rows of each cell: it is left out.
TEST(Dfr, CellsOfAFewRowsDoNotStarveTheOthers) {
  Rng rng(5, "dfr");
  std::vector<float> values;
  std::vector<std::int32_t> y, group;
  for (int i = 0; i < 400; ++i) {
    y.push_back(i % 2);
    group.push_back(static_cast<std::int32_t>(rng.below(2)));
    values.push_back(static_cast<float>(y.back() + rng.normal()));
  }
  const auto X = make_dense(values, 400, 1);
  const Rows rows{X.get(), y, {}, {}};
  const Vector two = fit_dfr(LinearHead(1, 1), rows, group, {}, {});
  for (std::size_t i = 0; i < 3; ++i) {
    group[i] = 2;
    y[i] = 1;
  }
  const Vector three = fit_dfr(LinearHead(1, 1), rows, group, {}, {});
  EXPECT_NEAR(three[0], two[0], 0.4);
  EXPECT_GT(three[0], 0.5);
}

}  // namespace
}  // namespace fmd
