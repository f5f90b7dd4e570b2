#include "fmd/data/split.h"

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"

namespace fmd {
namespace {

TEST(Split, PartsAreRead) {
  const auto parts = parse_parts("train=.5,repair=.2,test=.3");
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].name, "repair");
  EXPECT_EQ(parts[1].share, 0.2);
  for (const char* bad : {"", "train", "=.5", "a=.5,a=.5", "a=0", "a=-1", "a=x",
                          "a=.5,b=.6", "a=.5,", "a=1.1", "a=nan", "../x=.5", "..=.5"}) {
    EXPECT_ERROR(parse_parts(bad), ErrorKind::bad_option,
                 "as in train=.5,repair=.2,test=.3");
  }
}

TEST(Split, WholeSharesAreExact) {
  std::vector<std::int32_t> stratum;
  for (int i = 0; i < 100; ++i) stratum.push_back(i % 4 == 0 ? 1 : 0);
  const auto parts = split_rows(stratum, parse_parts("a=.52,b=.2,c=.28"), 1);
  EXPECT_EQ(parts[0].size(), 52U);
  EXPECT_EQ(parts[1].size(), 20U);
  EXPECT_EQ(parts[2].size(), 28U);
  Index ones = 0;
  for (const Index row : parts[1]) ones += stratum[static_cast<std::size_t>(row)];
  EXPECT_EQ(ones, 5);
}

TEST(Split, TheSeedDecides) {
  const std::vector<std::int32_t> stratum(200, 0);
  const auto shares = parse_parts("a=.5,b=.5");
  EXPECT_EQ(split_rows(stratum, shares, 7), split_rows(stratum, shares, 7));
  EXPECT_NE(split_rows(stratum, shares, 7), split_rows(stratum, shares, 8));
}

TEST(Split, ManySmallStrataStillGiveTheTotals) {
  // Every stratum has 3 rows and three parts of a third less a bit: all must be rounded.
  std::vector<std::int32_t> stratum;
  for (int i = 0; i < 999; ++i) stratum.push_back(i / 3);
  const auto parts = split_rows(stratum, parse_parts("a=.5,b=.2,c=.3"), 3);
  EXPECT_NEAR(static_cast<double>(parts[0].size()), 499.5, 1);
  EXPECT_NEAR(static_cast<double>(parts[1].size()), 199.8, 1);
  EXPECT_NEAR(static_cast<double>(parts[2].size()), 299.7, 1);
}

TEST(Split, ABadShareIsAnError) {
  EXPECT_ERROR(
      split_rows(std::vector<std::int32_t>{1, 2}, std::vector<Part>{{"a", 0.0}}, 1),
      ErrorKind::bad_option, "a share must be > 0");
}

RC_GTEST_PROP(SplitProperty, SharesHoldWithinOneRowInEveryStratumAndInAll, ()) {
  const auto stratum =
      *rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(-1, 9));
  const auto raw =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 50)));
  const int unused = *rc::gen::inRange(0, 20);
  const int total = std::accumulate(raw.begin(), raw.end(), unused);
  std::vector<Part> parts;
  for (const int share : raw)
    parts.push_back({std::to_string(parts.size()), static_cast<double>(share) / total});
  const auto split = split_rows(stratum, parts, *rc::gen::arbitrary<std::uint64_t>());

  std::map<std::int32_t, double> sizes;
  for (const std::int32_t s : stratum) ++sizes[s];
  std::set<Index> seen;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    RC_ASSERT(std::is_sorted(split[p].begin(), split[p].end()));
    std::map<std::int32_t, double> counts;
    for (const Index row : split[p]) {
      RC_ASSERT(seen.insert(row).second);
      ++counts[stratum[static_cast<std::size_t>(row)]];
    }
    for (const auto& [value, size] : sizes)
      RC_ASSERT(std::abs(counts[value] - parts[p].share * size) < 1 + 1e-6);
    const double expected = parts[p].share * static_cast<double>(stratum.size());
    RC_ASSERT(std::abs(static_cast<double>(split[p].size()) - expected) < 1 + 1e-6);
  }
  if (unused == 0) RC_ASSERT(seen.size() == stratum.size());
}

}  // namespace
}  // namespace fmd
