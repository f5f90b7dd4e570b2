#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "core/check.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/testing.h"
#include "metrics/binomial.h"

namespace fmd {
namespace {

constexpr Index kBatch = 64;  // permutations that share their buffers

struct Stratum {
  std::vector<std::size_t> outcomes;
  std::vector<Index> total;  // rows of each outcome, over groups
  std::vector<Index> rows;   // of each group in this stratum
};

void validate(const GroupCounts& counts, const std::vector<int>& stratum) {
  for (const std::vector<Index>& group : counts) {
    require_size("permutation_test", "a group's counts", static_cast<Index>(group.size()),
                 static_cast<Index>(counts.front().size()));
    for (const Index count : group)
      require_option(count >= 0, "permutation_test", "counts", count, ">= 0");
  }
  if (!stratum.empty() && !counts.empty())
    require_size("permutation_test", "stratum", static_cast<Index>(stratum.size()),
                 static_cast<Index>(counts.front().size()));
}

std::vector<Stratum> strata_of(const GroupCounts& counts, const std::vector<int>& stratum) {
  std::map<int, Stratum> by_name;
  const std::size_t outcomes = counts.empty() ? 0 : counts.front().size();
  for (std::size_t k = 0; k < outcomes; ++k) {
    Stratum& s = by_name[stratum.empty() ? 0 : stratum[k]];
    s.outcomes.push_back(k);
    s.total.push_back(0);
    s.rows.resize(counts.size(), 0);
    for (std::size_t g = 0; g < counts.size(); ++g) {
      s.total.back() += counts[g][k];
      s.rows[g] += counts[g][k];
    }
  }
  std::vector<Stratum> strata;
  for (auto& [name, s] : by_name) strata.push_back(std::move(s));
  return strata;
}

// Deals the rows of every stratum out to the groups: group by group, outcome by outcome.
void deal(const std::vector<Stratum>& strata, Rng& rng, GroupCounts& table) {
  for (const Stratum& s : strata) {
    std::vector<Index> left = s.total;
    for (std::size_t g = 0; g < table.size(); ++g) {
      Index wanted = s.rows[g], rows = 0;
      for (const Index count : left) rows += count;
      for (std::size_t k = 0; k < left.size(); ++k) {
        const Index got = hypergeometric(rows, left[k], wanted, rng);
        table[g][s.outcomes[k]] = got;
        rows -= left[k];
        left[k] -= got;
        wanted -= got;
      }
    }
  }
}

Confusion confusion(const std::vector<Index>& n) {
  const auto real = [&](std::size_t k) { return static_cast<double>(n[k]); };
  return {real(0), real(1), real(2), real(3), real(4), real(5)};
}

std::vector<Index> counts_of(const Confusion& c) {
  std::vector<Index> counts;
  for (const double count :
       {c.tp, c.fp, c.tn, c.fn, c.selected_unlabelled, c.rejected_unlabelled}) {
    require_option(count >= 0 && std::trunc(count) == count, "permutation_test", "count",
                   count, "a whole number");
    counts.push_back(static_cast<Index>(count));
  }
  return counts;
}

}  // namespace

PermutationTest permutation_test(const GroupCounts& counts, const std::vector<int>& stratum,
                                 const std::function<double(const GroupCounts&)>& statistic,
                                 Index permutations, const Exec& exec) {
  require_option(permutations >= 1, "permutation_test", "permutations", permutations,
                 ">= 1");
  validate(counts, stratum);
  PermutationTest test{.statistic = statistic(counts), .permutations = permutations};
  if (std::isnan(test.statistic)) return test;
  // Equal figures may differ in their last bits.
  const double size = std::abs(test.statistic);
  const double reached = std::isinf(size) ? size : size - 1e-12 * (1 + size);
  const std::vector<Stratum> strata = strata_of(counts, stratum);
  std::vector<Index> hits(static_cast<std::size_t>((permutations + kBatch - 1) / kBatch));
  exec.for_each(static_cast<Index>(hits.size()), [&](Index batch) {
    GroupCounts table = counts;
    for (Index r = batch * kBatch; r < std::min(permutations, (batch + 1) * kBatch); ++r) {
      Rng rng(exec.seed, "permutation", static_cast<std::uint64_t>(r));
      deal(strata, rng, table);
      // Written so that an undefined figure is a hit.
      hits[static_cast<std::size_t>(batch)] += !(std::abs(statistic(table)) < reached);
    }
  });
  for (const Index count : hits) test.hits += count;
  test.p_value = static_cast<double>(1 + test.hits) / static_cast<double>(1 + permutations);
  return test;
}

Exchange natural_exchange(const CriterionInfo& criterion) {
  const std::string_view rate = criterion.rate == nullptr ? "" : criterion.rate;
  const std::string_view name = criterion.name;
  for (const char* one : {"tpr", "tnr", "fpr", "fnr", "balanced_accuracy"})
    if (rate == one) return Exchange::same_label;
  for (const char* one : {"ppv", "npv", "fdr", "for"})
    if (rate == one) return Exchange::same_decision;
  if (name.find("odds") != name.npos) return Exchange::same_label;
  if (name == "average_predictive_value_difference" ||
      name == "conditional_use_accuracy_difference")
    return Exchange::same_decision;
  return Exchange::all;
}

PermutationTest permutation_test(const CriterionInfo& criterion, const Confusion& u,
                                 const Confusion& p, Exchange exchange, Index permutations,
                                 const Exec& exec) {
  // Outcomes tp, fp, tn, fn, selected and rejected without a label.
  static const std::vector<int> kByLabel{1, 0, 0, 1, 2, 2}, kByDecision{1, 1, 0, 0, 2, 3};
  const auto statistic = [&](const GroupCounts& table) {
    const double value = criterion.value(confusion(table[0]), confusion(table[1]));
    return criterion.ratio ? std::log(value) : value;
  };
  PermutationTest test = permutation_test({counts_of(u), counts_of(p)},
                                          exchange == Exchange::all ? std::vector<int>{}
                                          : exchange == Exchange::same_label ? kByLabel
                                                                             : kByDecision,
                                          statistic, permutations, exec);
  test.statistic = criterion.value(u, p);
  return test;
}

}  // namespace fmd
