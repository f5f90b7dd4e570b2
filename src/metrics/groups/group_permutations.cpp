#include "metrics/groups/group_permutations.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/index.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/multiplicity.h"
#include "fmd/metrics/permutation.h"

namespace fmd::internal {
namespace {

// The criterion behind a comparison; null: it is not made of counts.
const CriterionInfo* criterion_of(const GroupMeasure& measure, const std::string& rate) {
  if (measure.by_name) return find_criterion(measure.name);
  if (rate == "selection_rate") return find_criterion("statistical_parity_difference");
  if (rate == "tpr") return find_criterion("equal_opportunity_difference");
  if (rate == "fpr") return find_criterion("fpr_difference");
  return rate == "accuracy" ? find_criterion("ad") : nullptr;
}

// The p-values of some criteria of two groups, by name.
using ByCriterion = std::map<std::string, double>;

ByCriterion test_pair(const std::vector<const CriterionInfo*>& criteria,
                      const CountedGroup& u, const CountedGroup& p,
                      const FigureRules& rules, Index permutations, const Exec& exec) {
  ByCriterion found;
  const auto run = [&](bool right, Exchange exchange) {
    std::vector<const CriterionInfo*> some;
    for (const CriterionInfo* c : criteria)
      if (rules.of_right(c->rate) == right && natural_exchange(*c) == exchange)
        some.push_back(c);
    if (some.empty()) return;
    const std::vector<PermutationTest> tests =
        permutation_tests(some, right ? u.right : u.sums, right ? p.right : p.sums,
                          exchange, permutations, exec);
    for (std::size_t k = 0; k < some.size(); ++k) found[some[k]->name] = tests[k].p_value;
  };
  for (const bool right : {false, true})
    for (const Exchange exchange :
         {Exchange::all, Exchange::same_label, Exchange::same_decision})
      run(right, exchange);
  return found;
}

void adjust(GroupMeasure& measure) {
  std::vector<double> p;
  for (const Comparison& c : measure.comparisons) p.push_back(c.p_value);
  const std::vector<double> adjusted = holm(p);
  for (std::size_t k = 0; k < p.size(); ++k) measure.comparisons[k].adjusted = adjusted[k];
  if (const Comparison* behind = measure.behind_value()) measure.p_value = behind->adjusted;
}

}  // namespace

void add_permutations(const std::vector<CountedGroup>& counts, const FigureRules& rules,
                      Index permutations, const Exec& exec, GroupReport& report) {
  std::map<int, std::vector<const CriterionInfo*>> wanted;  // by the group compared
  for (const GroupMeasure& measure : report.measures)
    for (const Comparison& c : measure.comparisons)
      if (const CriterionInfo* criterion = criterion_of(measure, c.rate)) {
        auto& list = wanted[c.second];
        if (std::find(list.begin(), list.end(), criterion) == list.end())
          list.push_back(criterion);
      }
  std::map<int, ByCriterion> found;
  for (const auto& [group, criteria] : wanted) {
    // The seed depends on the name, as for mean scores: renumbering groups changes nothing.
    Exec own = exec;
    own.seed = Rng(exec.seed, "permutations of " + report.groups[at(group)].value).next();
    found[group] = test_pair(criteria, counts[at(group)], counts[at(report.reference)],
                             rules, permutations, own);
  }
  for (GroupMeasure& measure : report.measures) {
    for (Comparison& c : measure.comparisons)
      if (const CriterionInfo* criterion = criterion_of(measure, c.rate))
        c.p_value = found[c.second][criterion->name];
    adjust(measure);
  }
}

}  // namespace fmd::internal
