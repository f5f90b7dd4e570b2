#include "fmd/pipeline/debias_options.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/pipeline/compare.h"
#include "support/close.h"

namespace fmd {
namespace {

TEST(OptionFields, AListNamesEveryFieldOnceAndEveryFlagHasHelp) {
  DebiasOptions debias;
  CompareOptions compare;
  for (const auto& list : {fields(debias), fields(compare)}) {
    std::set<std::string> names, flags;
    for (const OptionField& field : list) {
      EXPECT_TRUE(names.insert(field.name).second) << field.name;
      const std::string flag = field.flag;
      if (flag.empty()) continue;
      EXPECT_TRUE(flags.insert(flag).second) << flag;
      EXPECT_TRUE(flag.starts_with("--")) << flag;
      EXPECT_NE(std::string(field.help), "") << flag;
    }
  }
}

TEST(OptionFields, JsonHasTheKeysOfAReceiptAndTheSeed) {
  const auto json = nlohmann::ordered_json::parse(options_json({}, 7));
  const std::vector<std::string> keys = {"method",
                                         "layers",
                                         "optimizer",
                                         "repair",
                                         "target",
                                         "may_use_attribute",
                                         "max_accuracy_loss",
                                         "only_if_over",
                                         "at",
                                         "best_effort",
                                         "keep_rate",
                                         "risk",
                                         "strict",
                                         "folds",
                                         "holdout_share",
                                         "hessian",
                                         "points",
                                         "polish",
                                         "monotone",
                                         "allow_nonmonotone",
                                         "anchor",
                                         "fit",
                                         "mu",
                                         "gaps",
                                         "scale",
                                         "rows",
                                         "refresh",
                                         "solver",
                                         "confidence",
                                         "replicates",
                                         "intersections",
                                         "seed"};
  std::vector<std::string> found;
  for (const auto& [key, value] : json.items()) found.push_back(key);
  EXPECT_EQ(found, keys);
  EXPECT_EQ(json["target"], nullptr);
  EXPECT_EQ(json["hessian"], "");
  EXPECT_EQ(json["seed"], 7);
}

TEST(OptionFields, OlderReceiptsMayLackWhatWasAddedLater) {
  auto json = nlohmann::json::parse(options_json({}, 1));
  json.erase("layers");
  json.erase("optimizer");
  EXPECT_EQ(parse_options(json.dump(), "receipt").options.layers, 1);
  // They were chosen on a hold-out, by the point estimate.
  for (const char* name : {"risk", "strict", "folds", "may_use_attribute"})
    json.erase(name);
  EXPECT_EQ(parse_options(json.dump(), "receipt").options.folds, 0);
  EXPECT_EQ(parse_options(json.dump(), "receipt").options.risk, 0.5);
  json.erase("points");
  EXPECT_ERROR((void)parse_options(json.dump(), "receipt"), ErrorKind::bad_model, "points");
}

TEST(OptionFields, ANameThatDoesNotExistIsAnError) {
  for (const char* key : {"method", "optimizer", "hessian", "scale", "solver", "at"}) {
    auto json = nlohmann::json::parse(options_json({}, 1));
    json[key] = "nosuch";
    EXPECT_ERROR((void)parse_options(json.dump(), "receipt"), ErrorKind::bad_option, key);
  }
}

}  // namespace
}  // namespace fmd
