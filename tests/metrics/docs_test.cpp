// docs/metrics.md names every rate, criterion and score metric, and nothing else as one.
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fmd/metrics/confusion.h"
#include "fmd/metrics/pair_gaps.h"
#include "fmd/metrics/score_curve.h"

namespace fmd {
namespace {

// The `names` in the first cells of the table below the heading that contains `table`.
std::set<std::string> names_below(const std::string& table) {
  std::ifstream file(FMD_TEST_DIR "/../docs/metrics.md");
  EXPECT_TRUE(file) << "docs/metrics.md is not there";
  std::set<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0) inside = line.find(table) != line.npos;
    if (!inside || line.rfind("| `", 0) != 0) continue;
    const std::string cell = line.substr(1, line.find('|', 1) - 1);
    const std::regex name("`([a-z0-9_]+)`");
    for (std::sregex_iterator it(cell.begin(), cell.end(), name), end; it != end; ++it)
      names.insert((*it)[1]);
  }
  return names;
}

template <typename Info>
std::set<std::string> names_of(const std::vector<Info>& all) {
  std::set<std::string> names;
  for (const Info& info : all) names.insert(info.name);
  return names;
}

TEST(MetricsPage, NamesWhatTheLibraryHas) {
  EXPECT_EQ(names_below("group_rates()"), names_of(group_rates()));
  EXPECT_EQ(names_below("group_criteria()"), names_of(group_criteria()));
  EXPECT_EQ(names_below("score_metrics()"), names_of(score_metrics()));
  const std::vector<std::string>& flips = PairGaps::names();
  EXPECT_EQ(names_below("PairGaps::names()"),
            std::set<std::string>(flips.begin(), flips.end()));
}

}  // namespace
}  // namespace fmd
