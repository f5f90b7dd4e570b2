#include "fmd/metrics/matched.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

// The variance by its definition: every two pairs that share a row.
double brute_force(const Vector& value, const std::vector<float>& weight,
                   const std::vector<const std::vector<Index>*>& rows) {
  double sum = 0, total = 0;
  for (Index i = 0; i < value.size(); ++i) {
    sum += static_cast<double>(weight[static_cast<std::size_t>(i)]) * value[i];
    total += static_cast<double>(weight[static_cast<std::size_t>(i)]);
  }
  const double mean = sum / total;
  double variance = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    for (std::size_t j = 0; j < weight.size(); ++j) {
      bool shared = false;
      for (const auto* a : rows)
        for (const auto* b : rows) shared = shared || (*a)[i] == (*b)[j];
      if (shared)
        variance += static_cast<double>(weight[i] * weight[j]) *
                    (value[static_cast<Index>(i)] - mean) *
                    (value[static_cast<Index>(j)] - mean) / (total * total);
    }
  }
  return variance;
}

TEST(SharedMean, CountsEveryTwoPairsThatShareARow) {
  Rng rng(3, "shared");
  std::vector<Index> row, partner, own;
  std::vector<float> weight;
  Vector value(120);
  for (Index i = 0; i < value.size(); ++i) {
    row.push_back(i / 2);  // two pairs a row
    partner.push_back(100 + rng.below(15));
    own.push_back((i / 2 + 1 + rng.below(20)) % 60);
    weight.push_back(0.5F);
    // Rows that serve often pull all their pairs: the pairs go together.
    value[i] = std::sin(static_cast<double>(partner.back())) + 0.3 * rng.normal();
  }
  const Interval found = shared_mean(value, weight, {&row, &partner, &own}, 0.95);
  const double expected = brute_force(value, weight, {&row, &partner, &own});
  EXPECT_CLOSE(found.value, value.mean(), 1e-12);
  EXPECT_CLOSE((found.high - found.low) / 2, normal_quantile(0.95) * std::sqrt(expected),
               1e-10);
  // Rows alone would promise more than there is.
  const Interval alone = shared_mean(value, weight, {&row}, 0.95);
  EXPECT_LT(alone.high - alone.low, found.high - found.low);
}

TEST(SharedMean, RowsThatServeOnceAreAPlainMean) {
  Rng rng(4, "plain");
  std::vector<Index> row, partner;
  std::vector<float> weight(50, 1.0F);
  Vector value(50);
  for (Index i = 0; i < 50; ++i) {
    row.push_back(i);
    partner.push_back(50 + i);
    value[i] = rng.normal();
  }
  const Interval found = shared_mean(value, weight, {&row, &partner}, 0.9);
  const double deviation = std::sqrt((value.array() - value.mean()).square().sum()) / 50;
  EXPECT_CLOSE(found.high - found.value, normal_quantile(0.9) * deviation, 1e-12);
}

TEST(MatchedResult, TheExcessIsTheGapMinusTheFloor) {
  MatchedGaps gaps;
  gaps.gap.resize(3);
  gaps.floor.resize(3);
  gaps.gap << 0.3, 0.1, 0.2;
  gaps.floor << 0.1, 0.1, 0.0;
  gaps.row = {0, 1, 1};
  gaps.partner = {5, 6, 7};
  gaps.own = {1, 0, 2};
  gaps.weight = {1, 0.5, 0.5};
  const MatchedResult result = matched_result(gaps, 0.95);
  EXPECT_EQ(result.rows, 2);
  EXPECT_EQ(result.pairs, 3);
  EXPECT_NEAR(result.co.value, (0.3 + 0.15) / 2, 1e-9);
  EXPECT_NEAR(result.floor.value, (0.1 + 0.05) / 2, 1e-9);
  EXPECT_NEAR(result.excess.value, result.co.value - result.floor.value, 1e-12);
  EXPECT_GE(result.co.low, 0);
}

TEST(MatchedResult, WrongUseIsAnError) {
  MatchedGaps gaps;
  gaps.gap.resize(2);
  gaps.floor.resize(1);
  EXPECT_THROW((void)matched_result(gaps, 0.95), Error);
  EXPECT_FALSE(matched_result({}, 0.95).co.defined());
}

}  // namespace
}  // namespace fmd
