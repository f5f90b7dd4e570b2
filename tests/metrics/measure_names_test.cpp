#include "fmd/metrics/measure_names.h"

#include <set>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/metrics/group.h"
#include "fmd/metrics/pair_gaps.h"
#include "support/close.h"

namespace fmd {
namespace {

TEST(MeasureNames, HoldEveryMeasureOnce) {
  const std::set<std::string> all(measure_names().begin(), measure_names().end());
  EXPECT_EQ(all.size(), measure_names().size());
  for (const auto* names : {&group_measure_names(), &PairGaps::names()})
    for (const std::string& name : *names) EXPECT_TRUE(all.contains(name)) << name;
  for (const std::string& name : measure_names()) EXPECT_EQ(find_measure(name), name);
}

TEST(MeasureNames, KnowTheNamesOfOtherPrograms) {
  const std::pair<const char*, const char*> cases[] = {
      {"demographic_parity_difference", "demographic_parity"},               // Fairlearn
      {"demographic_parity_ratio", "selection_ratio"},                       // Fairlearn
      {"true_positive_rate_difference", "equal_opportunity_difference"},     // AIF360
      {"false_positive_rate_ratio", "fpr_ratio"},                            // AIF360
      {"false_omission_rate_difference", "for_difference"},                  // AIF360
      {"mean_difference", "statistical_parity_difference"},                  // AIF360
      {"differential_fairness_bias_amplification", "bias_amplification"},    // AIF360
      {"between_group_generalized_entropy_index", "between_group_entropy"},  // AIF360
      {"recall_score_difference", "equal_opportunity_difference"},           // scikit-learn
      {"precision_score_ratio", "predictive_parity_ratio"},                  // scikit-learn
      {"f1_score_difference", "f1_difference"},                              // scikit-learn
      {"roc_auc_score_difference", "auc_difference"},                        // scikit-learn
      {"accuracy_score_group_min", "worst_group_accuracy"},                  // Fairlearn
      {"zero_one_loss_difference", "error_rate_difference"},                 // scikit-learn
      {"flip_gap", "co"},
  };
  for (const auto& [other, own] : cases) EXPECT_EQ(find_measure(other), own) << other;
  EXPECT_EQ(find_measure("magic"), "");
  EXPECT_EQ(find_rate_name("recall_score"), "tpr");
  EXPECT_EQ(find_rate_name("roc_auc_score"), "auc");
  EXPECT_EQ(find_rate_name("auc"), "auc");
}

TEST(MeasureNames, SuggestTheRightOne) {
  EXPECT_ERROR((void)measure_named("demografic_parity", "limit x"), ErrorKind::bad_option,
               "did you mean demographic_parity?");
  EXPECT_ERROR((void)measure_named("f1_scor_difference", "limit x"), ErrorKind::bad_option,
               "did you mean f1_score_difference (here: f1_difference)?");
  EXPECT_ERROR((void)measure_named("recall_score", "limit x"), ErrorKind::bad_option,
               "tpr is of one group");
  EXPECT_ERROR((void)measure_named("magic", "limit x"), ErrorKind::bad_option,
               "Often used: co, flip_rate");
  for (const auto& [name, meant] :
       {std::pair("f1_diff", "did you mean f1_difference?"),
        {"Demographic-Parity", "did you mean demographic_parity?"},
        {"flipgap", "did you mean flip_gap (here: co)?"},
        {"equalized", "did you mean equalized_odds"}})
    EXPECT_ERROR((void)measure_named(name, "limit x"), ErrorKind::bad_option, meant);
}

}  // namespace
}  // namespace fmd
