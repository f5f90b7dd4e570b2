// Agreement with AIF360, Fairlearn, Aequitas, Clarify, scikit-learn, SciPy and statsmodels:
// tools/golden/rates.py.
#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/metrics/aggregate.h"
#include "fmd/metrics/entropy.h"
#include "fmd/metrics/intersectional.h"
#include "fmd/metrics/score_curve.h"
#include "fmd/metrics/testing.h"
#include "metrics/statistics/distributions.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;
using Numbers = std::vector<double>;

constexpr double kExact = 1e-12;

struct Rows {
  std::vector<Confusion> groups{3};
  std::vector<std::vector<Confusion>> levels{2, std::vector<Confusion>(3)};
  std::vector<Numbers> score{3};
  std::vector<std::vector<bool>> positive{3};
  [[nodiscard]] ScoreRuns runs(std::size_t g) const {
    return score_runs(score[g], positive[g]);
  }
};

class RatesGolden : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::ifstream file(FMD_TEST_DIR "/golden/rates.json");
    ASSERT_TRUE(file) << "tests/golden/rates.json is not there";
    golden() = json::parse(file);
    const json& r = golden()["rows"];
    for (std::size_t i = 0; i < r["y"].size(); ++i) {
      const std::size_t g = r["group"][i], level = r["level"][i];
      const bool y = r["y"][i] == 1, d = r["d"][i] == 1;
      for (Confusion* c : {&rows().groups[g], &rows().levels[level][g]})
        (y ? (d ? c->tp : c->fn) : (d ? c->fp : c->tn)) += 1;
      rows().score[g].push_back(r["score"][i]);
      rows().positive[g].push_back(y);
    }
  }
  static json& golden() {
    static json all;
    return all;
  }
  static Rows& rows() {
    static Rows all;
    return all;
  }
  static std::vector<Benefit> all_benefits() {
    Confusion all;
    for (const Confusion& group : rows().groups) all.add(group);
    return benefits(all);
  }
};

TEST_F(RatesGolden, RatesOfGroups) {
  std::map<std::string, int> seen;
  for (const json& g : golden()["rates"]) {
    const RateInfo* rate = find_rate(g[1].get<std::string>());
    ASSERT_NE(rate, nullptr) << g[1];
    EXPECT_CLOSE(values_of(*rate, rows().groups), g[2].get<Numbers>(), kExact) << g;
    ++seen[rate->name];
  }
  for (const json& g : golden()["aequitas"]["rates"])
    EXPECT_CLOSE(values_of(*find_rate(g[0].get<std::string>()), rows().groups),
                 g[1].get<Numbers>(), kExact)
        << g;
  // Clarify's criteria below hold the last three.
  EXPECT_EQ(seen.size(), group_rates().size() - 3);
}

TEST_F(RatesGolden, Criteria) {
  std::map<std::string, int> seen;
  for (const json& g : golden()["criteria"]) {
    const CriterionInfo* criterion = find_criterion(g[1].get<std::string>());
    ASSERT_NE(criterion, nullptr) << g[1];
    EXPECT_CLOSE(criterion->value(rows().groups[0], rows().groups[1]), g[2].get<double>(),
                 kExact)
        << g;
    ++seen[criterion->name];
  }
  EXPECT_GE(seen.size(), 30u);
}

TEST_F(RatesGolden, Aggregations) {
  const json& all = golden()["aggregates"];
  for (const auto& [name, g] : all["rates"].items()) {
    const RateInfo& rate = *find_rate(name);
    const Numbers values = values_of(rate, rows().groups);
    const double overall = overall_of(rate, rows().groups);
    const auto expect = [&, &g = g](const char* what, double value) {
      EXPECT_CLOSE(value, g[what].get<double>(), kExact) << rate.name << " " << what;
    };
    expect("overall", overall);
    expect("min", group_min(values).value);
    expect("max", group_max(values).value);
    expect("difference", group_difference(values).value);
    expect("ratio", group_ratio(values).value);
    expect("difference_to_overall", difference_to_overall(values, overall).value);
    expect("ratio_to_overall", ratio_to_overall(values, overall).value);
  }
  for (const json& g : all["odds"]) {
    const OddsOf odds = g[0] == "mean" ? OddsOf::mean : OddsOf::worst_case;
    const Against against = g[1] == "to_overall" ? Against::overall : Against::each_other;
    EXPECT_CLOSE(odds_difference(rows().groups, odds, against), g[2].get<double>(), kExact);
    EXPECT_CLOSE(odds_ratio(rows().groups, odds, against), g[3].get<double>(), kExact);
  }
  const auto difference = [](const std::vector<Confusion>& groups) {
    return group_difference(values_of(*find_rate("selection_rate"), groups)).value;
  };
  EXPECT_CLOSE(within_strata(rows().levels, difference).by_stratum,
               all["within"].get<Numbers>(), kExact);
  EXPECT_CLOSE(
      one_versus_rest(*find_criterion("equal_opportunity_difference"), rows().groups),
      all["tpr_versus_rest"].get<Numbers>(), kExact);
}

TEST_F(RatesGolden, AequitasReferences) {
  const json& all = golden()["aequitas"];
  EXPECT_CLOSE(selected_shares(rows().groups), all["ppr"].get<Numbers>(), kExact);
  const std::map<std::string, const char*> ratio{{"tpr", "equal_opportunity_ratio"},
                                                 {"fpr", "fpr_ratio"},
                                                 {"selection_rate", "disparate_impact"}};
  for (const auto& [reference, rates] : all["disparity"].items())
    for (const json& g : rates) {
      const std::string name = g[0];
      const int group = reference == "majority" ? majority_group(rows().groups)
                        : reference == "smallest"
                            ? smallest_group(*find_rate(name), rows().groups)
                            : 2;
      EXPECT_CLOSE(versus_reference(*find_criterion(ratio.at(name)), rows().groups, group),
                   g[1].get<Numbers>(), kExact)
          << reference << " " << name;
    }
}

TEST_F(RatesGolden, Scores) {
  const json& all = golden()["scores"];
  for (std::size_t g = 0; g < 3; ++g)
    for (const ScoreMetricInfo& info : score_metrics())
      EXPECT_CLOSE(info.value(rows().runs(g)), all["by_group"][g][info.name].get<double>(),
                   kExact)
          << info.name << " of group " << g;
  EXPECT_CLOSE(abroca(rows().runs(0), rows().runs(1)), all["abroca"].get<double>(), kExact);
  EXPECT_CLOSE(ks_distance(rows().runs(0), rows().runs(1)),
               all["ks_distance"].get<double>(), kExact);
}

TEST_F(RatesGolden, Indices) {
  const json& all = golden()["indices"];
  for (const json& g : all["entropy"])
    EXPECT_CLOSE(generalized_entropy(all_benefits(), g[0]), g[1].get<double>(), kExact);
  EXPECT_CLOSE(theil_index(all_benefits()), all["theil"].get<double>(), kExact);
  EXPECT_CLOSE(coefficient_of_variation(all_benefits()), all["cv"].get<double>(), kExact);
  std::vector<std::vector<Benefit>> groups;
  std::vector<Benefit> scores;
  for (std::size_t g = 0; g < 3; ++g) {
    groups.push_back(benefits(rows().groups[g]));
    for (const Benefit& b : benefits(rows().runs(g))) scores.push_back(b);
  }
  for (const json& g : all["between"])
    // A mean of terms near 1 less 1: the last bits of 1 are what counts.
    EXPECT_NEAR(between_group_entropy(groups, g[0]), g[1].get<double>(), 1e-14) << g;
  for (const json& g : all["entropy_of_scores"])
    EXPECT_CLOSE(generalized_entropy(scores, g[0]), g[1].get<double>(), kExact) << g;
  for (const json& g : all["epsilon"])
    EXPECT_CLOSE(bias_amplification(rows().groups, g[0].get<double>() / 2).labels.epsilon,
                 g[1].get<double>(), kExact);
  EXPECT_CLOSE(bias_amplification(rows().groups).amplification,
               all["amplification"].get<double>(), kExact);
}

TEST_F(RatesGolden, Distributions) {
  const json& all = golden()["statistics"];
  for (const json& g : all["jeffreys"]) {
    const Interval found = beta_interval(g[0], g[1], g[2]);
    EXPECT_CLOSE(found.low, g[3].get<double>(), 1e-9) << g;
    EXPECT_CLOSE(found.high, g[4].get<double>(), 1e-9) << g;
  }
  for (const json& g : all["beta"])
    EXPECT_CLOSE(beta_probability(g[0], g[1], g[2]), g[3].get<double>(), 1e-9) << g;
  for (const json& g : all["binomial"])
    EXPECT_CLOSE(binomial_density(g[0], g[1], g[2]), g[3].get<double>(), 1e-9) << g;
}

// The same replicates, jackknife and confidence as scipy.stats.bootstrap.
void expect_bca(const json& g, double acceleration) {
  for (const json& end : g["ends"]) {
    const Interval found =
        bca(g["value"], g["replicates"].get<Numbers>(), acceleration, end[0]);
    EXPECT_CLOSE(found.low, end[1].get<double>(), kExact);
    EXPECT_CLOSE(found.high, end[2].get<double>(), kExact);
  }
}

std::pair<double, double> central_sums(const Numbers& x, double divisor) {
  double mean = 0, squares = 0, cubes = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) {
    const double d = (v - mean) / divisor;
    squares += d * d;
    cubes += d * d * d;
  }
  return {squares, cubes};
}

TEST_F(RatesGolden, Bca) {
  const json& all = golden()["statistics"];
  const auto mean = central_sums(all["bca_mean"]["samples"][0], 1);
  expect_bca(all["bca_mean"], mean_acceleration(mean.first, mean.second));
  // A difference of means: influences (x - m) / n of the first, -(y - m) / n of the second.
  const Numbers x = all["bca_two"]["samples"][0], y = all["bca_two"]["samples"][1];
  const auto first = central_sums(x, static_cast<double>(x.size()));
  const auto second = central_sums(y, -static_cast<double>(y.size()));
  expect_bca(all["bca_two"],
             mean_acceleration(first.first + second.first, first.second + second.second));
  // Rows of four kinds as counts.
  std::vector<Index> counts(4, 0);
  for (const double row : all["bca_counts"]["samples"][0].get<Numbers>())
    ++counts[static_cast<std::size_t>(row)];
  const auto ratio = [](const std::vector<Index>& t) {
    const auto real = [&](std::size_t k) { return static_cast<double>(t[k]); };
    const double rows = real(0) + real(1) + real(2) + real(3);
    return real(0) / (real(0) + real(1)) / ((rows - real(3)) / rows);
  };
  expect_bca(all["bca_counts"], jackknife_acceleration(counts, {}, ratio));
}

TEST_F(RatesGolden, PValues) {
  const json& all = golden()["statistics"];
  const Numbers p = all["p_values"];
  EXPECT_CLOSE(holm(p), all["holm"].get<Numbers>(), kExact);
  EXPECT_CLOSE(benjamini_hochberg(p), all["benjamini_hochberg"].get<Numbers>(), kExact);
  GroupCounts counts{{0, 0}, {0, 0}};
  for (std::size_t g = 0; g < 2; ++g)
    for (const int outcome : all["permutation"]["groups"][g])
      ++counts[g][static_cast<std::size_t>(outcome)];
  const auto gap = [](const GroupCounts& t) {
    const auto rate = [](const std::vector<Index>& g) {
      return static_cast<double>(g[1]) / static_cast<double>(g[0] + g[1]);
    };
    return rate(t[0]) - rate(t[1]);
  };
  const double exact = all["permutation"]["p"];
  EXPECT_NEAR(permutation_test(counts, {}, gap, 40000, {}).p_value, exact,
              5 * std::sqrt(exact * (1 - exact) / 40000) + 1e-4);
}

}  // namespace
}  // namespace fmd
