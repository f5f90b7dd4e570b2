#include "report/match_json.h"

#include <algorithm>

namespace fmd {
namespace {

Json balance_json(const MatchReport& match) {
  Json lines = Json::array();
  for (const BalanceLine& line : match.balance) {
    Json one = {{"column", line.column}};
    if (!line.level.empty()) one["level"] = line.level;
    one["first"] = line.first;
    one["second"] = line.second;
    one["before"] = number(line.before);
    one["after"] = number(line.after);
    lines.push_back(one);
  }
  return lines;
}

Json plan_json(const MatchReport& match) {
  Json unmatched = Json::object();
  for (const auto& [why, count] : match.unmatched) unmatched[why] = count;
  const auto [before, after] = unbalanced(match);
  return {{"by", match.by},
          {"columns", match.columns},
          {"same_label", match.same_label},
          {"reuse", match.reuse},
          {"caliper", number(match.caliper)},
          {"values", match.values},
          {"rows", match.rows},
          {"matched", match.matched},
          {"pairs", match.pairs},
          {"compared", match.compared},
          {"unmatched", unmatched},
          {"partners", match.partners},
          {"most_used", match.most_used},
          {"quality", number(match.quality)},
          {"distance", number(match.distance)},
          {"flip_rate", number(match.flip_rate)},
          {"flip_rate_floor", number(match.flip_rate_floor)},
          {"unbalanced", {{"before", before}, {"after", after}}},
          {"balance", balance_json(match)}};
}

}  // namespace

std::pair<Index, Index> unbalanced(const MatchReport& report) {
  std::pair<Index, Index> count = {0, 0};
  for (const BalanceLine& line : report.balance) {
    count.first += std::abs(line.before) > kImbalance;
    count.second += std::abs(line.after) > kImbalance;
  }
  return count;
}

void match_json(const AttributeAudit& audit, Json& attribute, Json& measures) {
  if (!audit.flip_test.empty()) {
    Json tests = Json::array();
    for (const FlipTest& test : audit.flip_test) {
      Json one = {
          {"group", test.group}, {"reference", test.reference}, {"rows", test.rows}};
      one.update(interval_json(test.value));
      tests.push_back(one);
    }
    measures["flip_test"] = tests;
  }
  if (!audit.match) return;
  const MatchReport& match = *audit.match;
  measures["co_match"] = interval_json(match.co, match.reason);
  measures["co_match_floor"] = interval_json(match.floor, match.reason);
  measures["co_match_excess"] = interval_json(match.excess, match.reason);
  attribute["match"] = plan_json(match);
}

}  // namespace fmd
