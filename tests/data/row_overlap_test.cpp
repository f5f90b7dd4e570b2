#include "fmd/data/row_overlap.h"

#include <gtest/gtest.h>

#include "fmd/core/rng.h"

namespace fmd {
namespace {

using Rows = std::vector<std::uint64_t>;

// Rows of a population of `kinds` different persons' records, drawn with replacement.
Rows drawn(Index count, Index kinds, std::uint64_t seed) {
  Rng rng(seed, "rows");
  Rows rows;
  for (Index i = 0; i < count; ++i)
    rows.push_back(rng.below(static_cast<std::uint64_t>(kinds)));
  return sorted_hashes(std::move(rows));
}

Rows joined(Rows a, const Rows& b) {
  a.insert(a.end(), b.begin(), b.end());
  return sorted_hashes(std::move(a));
}

TEST(CountTwins, CountsRowsThatEqualAnother) {
  const Twins twins = count_twins(Rows{1, 2, 2, 5, 7, 7, 7});
  EXPECT_EQ(twins.rows, 7);
  EXPECT_EQ(twins.twins, 5);
  EXPECT_EQ(twins.distinct, 4);
  EXPECT_EQ(twins.most_copies, 3);
  EXPECT_DOUBLE_EQ(twins.share(), 5.0 / 7);
  EXPECT_EQ(count_twins({}).rows, 0);
  EXPECT_EQ(count_twins({}).share(), 0);
}

TEST(RowOverlap, TheSameRowsAreOneSetEvenWhereEveryRowHasTwins) {
  const Rows rows = drawn(1000, 20, 1);
  const RowOverlap same = row_overlap(rows, rows);
  EXPECT_TRUE(same.same_set);
  EXPECT_TRUE(same.beyond_chance());
  EXPECT_FALSE(row_overlap(rows, drawn(1000, 20, 2)).beyond_chance());
}

TEST(RowOverlap, APartOfOneTableInAnotherIsFound) {
  const Rows many = drawn(5000, 1000000000, 3), others = drawn(1000, 1000000000, 4);
  EXPECT_FALSE(row_overlap(others, many).beyond_chance());
  const Rows some = joined(others, Rows(many.begin(), many.begin() + 20));
  const RowOverlap found = row_overlap(some, many);
  EXPECT_EQ(found.shared, 20);
  EXPECT_LT(found.by_chance, 2);
  EXPECT_TRUE(found.beyond_chance());
  EXPECT_TRUE(row_overlap(many, some).beyond_chance());
}

// Independent tables of a population with few different rows: hardly ever called shared,
// whichever is the larger one.
TEST(RowOverlap, ChanceIsNotCalledAnOverlap) {
  for (const Index kinds : {50, 2000, 50000, 10000000}) {
    int called = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Rows small = drawn(400, kinds, 2 * seed),
                 large = drawn(4000, kinds, 2 * seed + 1);
      called += row_overlap(small, large).beyond_chance();
      called += row_overlap(large, small).beyond_chance();
    }
    EXPECT_LE(called, 4) << kinds;
  }
}

// Who copies every row of the training table makes all of its rows twins; that must not
// explain any overlap with it.
TEST(RowOverlap, CopiesOfRowsDoNotHideIt) {
  const Rows train = drawn(3000, 1000000000, 5);
  Rows thrice;
  for (const std::uint64_t row : train) thrice.insert(thrice.end(), 3, row);
  const Rows test =
      joined(drawn(1000, 1000000000, 6), Rows(train.begin(), train.begin() + 300));
  EXPECT_TRUE(row_overlap(test, thrice).beyond_chance());
  EXPECT_FALSE(row_overlap(drawn(1000, 1000000000, 7), thrice).beyond_chance());
}

}  // namespace
}  // namespace fmd
