#include "fmd/influence/ranking.h"

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

TEST(Ranking, MostNegativeFirstEqualOnesByEntry) {
  const std::vector<double> change = {-1, 2, -3, -1, 0, -3};
  EXPECT_EQ(most_harmful(change, 10), (std::vector<Index>{2, 5, 0, 3}));
  EXPECT_EQ(most_harmful(change, 3), (std::vector<Index>{2, 5, 0}));
  EXPECT_TRUE(most_harmful(change, 0).empty());
  EXPECT_ERROR(most_harmful(change, -1), ErrorKind::bad_option, "count");
}

TEST(Ranking, CellsAddUp) {
  const std::vector<double> change = {-1, 2, -3, 4, 5};
  const std::vector<std::int32_t> label = {0, 1, 0, 1, -1}, group = {0, 0, 1, 0, 0};
  const auto cells = influence_cells(change, label, group);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0].group, 1);
  EXPECT_EQ(cells[0].per_100(), -300);
  EXPECT_EQ(cells[2].rows, 2);
  EXPECT_EQ(cells[2].per_100(), 300);
  EXPECT_ERROR(influence_cells(change, label, {}), ErrorKind::bad_shape, "group");
}

}  // namespace
}  // namespace fmd
