// Agreement with scikit-learn's neighbours and AIF360's definition:
// tools/golden/neighbours.py.
#include "fmd/metrics/individual.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;

Scored decided(const std::vector<std::int32_t>& decision) {
  Scored scored;
  scored.p = Matrix::Zero(std::ssize(decision), 2);
  scored.decision = decision;
  scored.favorable = 1;
  return scored;
}

struct Case {
  std::unique_ptr<Features> X;
  Scored scored;
  json expected;
};

Case golden() {
  std::ifstream file(FMD_TEST_DIR "/golden/neighbours.json");
  Case c;
  c.expected = json::parse(file);
  std::vector<float> values;
  for (const double value : c.expected["X"]) values.push_back(static_cast<float>(value));
  const Index rows = std::ssize(c.expected["decision"]);
  c.X = make_dense(values, rows, std::ssize(values) / rows);
  c.scored = decided(c.expected["decision"].get<std::vector<std::int32_t>>());
  return c;
}

TEST(Consistency, IsThatOfAif360) {
  const Case c = golden();
  const Rows rows{c.X.get(), {}, {}, {}};
  for (const Index k : {1, 5, 9}) {
    const Interval found =
        consistency(c.scored, nearest(rows, rows, {.k = k}, {}), 0.95, 200, {});
    EXPECT_CLOSE(found.value, c.expected["consistency"][std::to_string(k)].get<double>(),
                 1e-12);
    EXPECT_LE(found.low, found.value);
    EXPECT_GE(found.high, found.value);
  }
}

TEST(FlipTest, IsThatOfClarify) {
  const Case c = golden();
  const auto group = c.expected["group"].get<std::vector<int>>();
  std::vector<Index> rows, others;
  for (std::size_t i = 0; i < group.size(); ++i)
    (group[i] == 0 ? rows : others).push_back(static_cast<Index>(i));
  const Neighbours near =
      nearest({c.X.get(), {}, {}, rows}, {c.X.get(), {}, {}, others}, {.k = 5}, {});
  EXPECT_CLOSE(flip_test(c.scored, rows, near, 0.95, 200, {}).value,
               c.expected["flip_test"].get<double>(), 1e-12);
}

TEST(Consistency, AllAlikeIsOneAndSizesMustFit) {
  const auto X = make_dense({0, 1, 2, 3}, 4, 1);
  const Rows rows{X.get(), {}, {}, {}};
  const Neighbours near = nearest(rows, rows, {.k = 2}, {});
  EXPECT_EQ(consistency(decided({1, 1, 1, 1}), near, 0.95, 50, {}).value, 1);
  // Each has itself and one other row: 0-1, 1-0 (ties by row), 2-1, 3-2.
  EXPECT_EQ(consistency(decided({1, 0, 0, 0}), near, 0.95, 50, {}).value, 1 - 0.25);
  EXPECT_THROW((void)consistency(decided({1, 1}), near, 0.95, 50, {}), Error);
}

}  // namespace
}  // namespace fmd
