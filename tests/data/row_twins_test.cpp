#include "fmd/data/row_twins.h"

#include <vector>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

std::vector<std::uint64_t> hashes(std::size_t count, std::uint64_t seed) {
  Rng rng(seed, "rows");
  std::vector<std::uint64_t> all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(rng.next());
  return all;
}

TEST(RowTwins, CountRowsThatEqualEachOther) {
  RowTwins twins;
  EXPECT_EQ(twins.times(), 1);
  twins.add(hashes(1000, 1));
  EXPECT_EQ(twins.rows(), 1000);
  EXPECT_EQ(twins.twins(), 0);
  EXPECT_EQ(twins.times(), 1);
  const std::vector<std::uint64_t> again = hashes(10, 1);
  twins.add(again);
  EXPECT_EQ(twins.rows(), 1010);
  EXPECT_EQ(twins.different(), 1000);
  EXPECT_EQ(twins.twins(), 20);
  EXPECT_EQ(twins.times(), 1);
}

TEST(RowTwins, FindRowsThatStandThereManyTimes) {
  RowTwins twins;
  for (int k = 0; k < 21; ++k) twins.add(hashes(200, 2));
  twins.add(hashes(50, 2));
  EXPECT_EQ(twins.times(), 1);
  for (int k = 0; k < 20; ++k) twins.add(hashes(50, 2));
  EXPECT_EQ(twins.times(), 21);
}

// The sample of many rows is that of the rows, in whatever order and in however many parts.
TEST(RowTwins, PartsGiveTheSameSample) {
  const std::vector<std::uint64_t> first = hashes(5000, 3), second = hashes(4000, 4);
  RowTwins whole(500), one(500), two(500);
  whole.add(first), whole.add(second), whole.add(first);
  one.add(second);
  two.add(first), two.add(first);
  one.merge(two);
  EXPECT_LE(whole.different(), 500);
  EXPECT_GT(whole.different(), 100);
  ByteWriter a, b;
  whole.save(a);
  one.save(b);
  EXPECT_EQ(a.bytes(), b.bytes());
  // 10,000 of 14,000 rows have a twin.
  EXPECT_NEAR(static_cast<double>(whole.twins()) / static_cast<double>(whole.rows()),
              10. / 14, .08);
  ByteReader in(a.bytes(), "twins");
  const RowTwins back = RowTwins::load(in);
  EXPECT_EQ(back.twins(), whole.twins());
  EXPECT_EQ(in.left(), 0U);
  const Bytes cut(a.bytes().begin(), a.bytes().begin() + 30);
  ByteReader damaged(cut, "twins");
  EXPECT_THROW((void)RowTwins::load(damaged), Error);
}

}  // namespace
}  // namespace fmd
