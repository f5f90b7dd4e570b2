#include "fmd/metrics/permutation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string_view>

#include "core/check.h"
#include "fmd/core/rng.h"
#include "metrics/groups/confusion_counts.h"
#include "metrics/statistics/distributions.h"

namespace fmd {
namespace {

constexpr Index kPermutationBatch = 64;  // permutations that share their buffers

struct Stratum {
  std::vector<std::size_t> outcomes;
  std::vector<Index> total;  // rows of each outcome, over groups
  std::vector<Index> rows;   // of each group in this stratum
};

void require_groups(const GroupCounts& counts, const std::vector<int>& stratum) {
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

// Deals out the rows of every stratum to the groups: group by group, outcome by outcome.
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

// Several figures of each permutation.
using Statistics = std::function<void(const GroupCounts&, std::span<double>)>;

std::vector<PermutationTest> permute(const GroupCounts& counts,
                                     const std::vector<int>& stratum, std::size_t figures,
                                     const Statistics& statistics, Index permutations,
                                     const Exec& exec) {
  require_option(permutations >= 1, "permutation_test", "permutations", permutations,
                 ">= 1");
  require_groups(counts, stratum);
  std::vector<double> own(figures), reached(figures);
  statistics(counts, own);
  for (std::size_t k = 0; k < figures; ++k) {
    // Equal figures may differ in their last bits.
    const double size = std::abs(own[k]);
    reached[k] = std::isinf(size) ? size : size - 1e-12 * (1 + size);
  }
  const std::vector<Stratum> strata = strata_of(counts, stratum);
  const Index batches = (permutations + kPermutationBatch - 1) / kPermutationBatch;
  std::vector<std::vector<Index>> hits(static_cast<std::size_t>(batches),
                                       std::vector<Index>(figures, 0));
  exec.for_each(batches, [&](Index batch) {
    GroupCounts table = counts;
    std::vector<double> values(figures);
    for (Index r = batch * kPermutationBatch;
         r < std::min(permutations, (batch + 1) * kPermutationBatch); ++r) {
      Rng rng(exec.seed, "permutation", static_cast<std::uint64_t>(r));
      deal(strata, rng, table);
      statistics(table, values);
      // Written so that an undefined figure is a hit.
      for (std::size_t k = 0; k < figures; ++k)
        hits[static_cast<std::size_t>(batch)][k] += !(std::abs(values[k]) < reached[k]);
    }
  });
  std::vector<PermutationTest> tests;
  for (std::size_t k = 0; k < figures; ++k) {
    PermutationTest test{.statistic = own[k], .permutations = permutations};
    if (!std::isnan(own[k])) {
      for (const auto& batch : hits) test.hits += batch[k];
      test.p_value =
          static_cast<double>(1 + test.hits) / static_cast<double>(1 + permutations);
    }
    tests.push_back(test);
  }
  return tests;
}

}  // namespace

PermutationTest permutation_test(const GroupCounts& counts, const std::vector<int>& stratum,
                                 const std::function<double(const GroupCounts&)>& statistic,
                                 Index permutations, const Exec& exec) {
  return permute(
      counts, stratum, 1,
      [&](const GroupCounts& table, std::span<double> value) {
        value[0] = statistic(table);
      },
      permutations, exec)[0];
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

std::vector<PermutationTest> permutation_tests(
    const std::vector<const CriterionInfo*>& criteria, const Confusion& u,
    const Confusion& p, Exchange exchange, Index permutations, const Exec& exec) {
  // Outcomes tp, fp, tn, fn, selected and rejected without a label.
  static const std::vector<int> kByLabel{1, 0, 0, 1, 2, 2}, kByDecision{1, 1, 0, 0, 2, 3};
  const auto statistics = [&](const GroupCounts& table, std::span<double> values) {
    const Confusion first = confusion_of(table[0]), second = confusion_of(table[1]);
    for (std::size_t k = 0; k < criteria.size(); ++k) {
      const double value = criteria[k]->value(first, second);
      values[k] = criteria[k]->ratio ? std::log(value) : value;
    }
  };
  const char* where = "permutation_test";
  std::vector<PermutationTest> tests =
      permute({confusion_counts(where, u), confusion_counts(where, p)},
              exchange == Exchange::all          ? std::vector<int>{}
              : exchange == Exchange::same_label ? kByLabel
                                                 : kByDecision,
              criteria.size(), statistics, permutations, exec);
  for (std::size_t k = 0; k < criteria.size(); ++k)
    tests[k].statistic = criteria[k]->value(u, p);
  return tests;
}

PermutationTest permutation_test(const CriterionInfo& criterion, const Confusion& u,
                                 const Confusion& p, Exchange exchange, Index permutations,
                                 const Exec& exec) {
  return permutation_tests({&criterion}, u, p, exchange, permutations, exec)[0];
}

}  // namespace fmd
