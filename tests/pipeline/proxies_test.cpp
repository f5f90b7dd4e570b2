#include "pipeline/proxies.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"

namespace fmd::internal {
namespace {

// `group` is told by `copy` always, by `weak` for 7 of 10 rows, and not by `noise`.
Table rows_of(Index count) {
  Rng rng(3, "proxies");
  Column group{.name = "group", .kind = ColumnKind::category}, copy = group, weak = group,
                                                               noise{.name = "noise"};
  copy.name = "copy";
  weak.name = "weak";
  for (Column* column : {&group, &copy, &weak}) column->levels = {"a", "b"};
  for (Index i = 0; i < count; ++i) {
    const auto g = static_cast<std::int32_t>(rng.below(2));
    group.codes.push_back(g);
    copy.codes.push_back(1 - g);
    weak.codes.push_back(rng.below(10) < 7 ? g : 1 - g);
    noise.numbers.push_back(static_cast<double>(rng.below(1000)));
  }
  return {.source = "rows", .columns = {group, copy, weak, noise}, .line = {}};
}

TEST(Proxies, AColumnThatTellsTheAttributeIsNamedWithItsKnownAuc) {
  const Table table = rows_of(4000);
  const Attribute group = read_attribute(table, {.name = "group"});
  const ProxyReport all =
      find_proxies(table, group, {"group", "copy", "weak", "noise"}, .95, {});
  EXPECT_EQ(all.rows, 4000);
  EXPECT_DOUBLE_EQ(all.auc.value, 1);
  ASSERT_EQ(all.columns.size(), 2U);  // neither its own column nor noise
  EXPECT_EQ(all.columns[0].column, "copy");
  EXPECT_DOUBLE_EQ(all.columns[0].auc.value, 1);
  EXPECT_EQ(all.columns[1].column, "weak");
  // P(right order) + P(tie) / 2 = .7^2 + 2 (.7 .3) / 2
  EXPECT_LT(all.columns[1].auc.low, .7);
  EXPECT_GT(all.columns[1].auc.high, .7);
  EXPECT_NEAR(all.columns[1].auc.high - all.columns[1].auc.low,
              2 * 2.24 * std::sqrt(.21 / 4000), .01);

  const ProxyReport noise = find_proxies(table, group, {"noise"}, .95, {});
  EXPECT_TRUE(noise.columns.empty());
  EXPECT_LT(noise.auc.low, .5);
  EXPECT_GT(noise.auc.high, .5);
}

TEST(Proxies, TooFewRowsOrColumnsAreAReason) {
  const Table table = rows_of(60);
  const Attribute group = read_attribute(table, {.name = "group"});
  EXPECT_FALSE(find_proxies(table, group, {"noise"}, .95, {}).reason.empty());
  const Table more = rows_of(400);
  EXPECT_FALSE(find_proxies(more, group, {"group"}, .95, {}).reason.empty());
}

TEST(Proxies, ASampleKeepsRowsWholeAndDoesNotDependOnBlocks) {
  const Table table = rows_of(1000);
  RowSample once({"group", "copy", "absent"}, 1, 100), twice = once;
  once.add(table);
  std::vector<Index> first, second;
  for (Index i = 0; i < 1000; ++i) (i < 300 ? first : second).push_back(i);
  twice.add(select(table, first));
  twice.add(select(table, second));
  const Table a = once.table(), b = twice.table();
  ASSERT_EQ(a.rows(), 100);
  ASSERT_EQ(a.columns.size(), 2U);
  for (Index i = 0; i < 100; ++i) {
    EXPECT_NE(a.columns[0].text(i), a.columns[1].text(i));
    EXPECT_EQ(a.columns[0].text(i), b.columns[0].text(i));
  }
}

}  // namespace
}  // namespace fmd::internal
