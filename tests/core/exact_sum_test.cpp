#include "fmd/core/exact_sum.h"

#include <gtest/gtest.h>

#include "fmd/core/rng.h"

namespace fmd {
namespace {

TEST(ExactSum, CarriesBeyond64Bits) {
  ExactSum sum;
  for (int i = 0; i < 5; ++i) sum.add(~std::uint64_t{0});
  EXPECT_EQ(sum.high, 4);
  EXPECT_EQ(sum.value(0), 5 * 0x1p64);
  ExactSum twice = sum;
  twice.add(sum);
  EXPECT_EQ(twice.value(64), 10);
}

TEST(ExactSum, RoundsToItsUnitAndTakesAllSizes) {
  for (const double x : {0.0, 1.0, 0.3, 0x1p-61, 0x1p-70, 12345.678, 0x1p40, 0x1p62}) {
    ExactSum sum;
    sum.add(x, 60);
    EXPECT_NEAR(sum.value(60), x, 0x1p-61) << x;
  }
}

TEST(ExactSum, TheOrderOfAdditionsChangesNothing) {
  Rng rng(1, "sum");
  std::vector<double> x;
  for (int i = 0; i < 1000; ++i) x.push_back(rng.uniform() * std::ldexp(1, i % 40 - 20));
  ExactSum forth, back;
  for (std::size_t i = 0; i < x.size(); ++i)
    forth.add(x[i], 60), back.add(x[x.size() - 1 - i], 60);
  EXPECT_EQ(forth.low, back.low);
  EXPECT_EQ(forth.high, back.high);
}

}  // namespace
}  // namespace fmd
