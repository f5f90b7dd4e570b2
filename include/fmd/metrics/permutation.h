#pragma once

#include <functional>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/confusion.h"
#include "fmd/metrics/interval.h"

// p-values of gaps between groups, by permutation.
namespace fmd {

// counts[g][k]: rows of group g with outcome k.
using GroupCounts = std::vector<std::vector<Index>>;

struct PermutationTest {
  double statistic = kUndefined;  // of the measured table
  double p_value = kUndefined;    // (1 + hits) / (1 + permutations)
  Index hits = 0;                 // permutations whose figure is at least as large in size
  Index permutations = 0;
};

// How often do groups that are dealt out at random differ as much as these? Rows keep their
// outcome, groups keep their sizes. Rows of outcomes with the same stratum are exchanged
// among each other; empty: all rows. (Take outcomes by label and decision, and the label as
// the stratum: then every group keeps its labels.) A permutation of the rows is a draw from
// the multivariate hypergeometric distribution of the counts. Its cost does not depend on
// the number of rows. A permutation whose figure is undefined counts as a hit. Permutation
// r depends on (seed, r) alone. Throws Error (bad_shape, bad_option).
[[nodiscard]] PermutationTest permutation_test(
    const GroupCounts& counts, const std::vector<int>& stratum,
    const std::function<double(const GroupCounts&)>& statistic, Index permutations,
    const Exec& exec);

// Which rows can be exchanged when there is no gap: all; those with the same label (tpr,
// fpr, odds); those with the same decision (ppv, npv, ...).
enum class Exchange { all, same_label, same_decision };
[[nodiscard]] Exchange natural_exchange(const CriterionInfo& criterion);

// The statistic is the size of the criterion for differences, and the size of its logarithm
// for ratios.
[[nodiscard]] PermutationTest permutation_test(const CriterionInfo& criterion,
                                               const Confusion& u, const Confusion& p,
                                               Exchange exchange, Index permutations,
                                               const Exec& exec);

// Several criteria on the same permutations. Each result is that of the criterion alone;
// all together cost about as much as one.
[[nodiscard]] std::vector<PermutationTest> permutation_tests(
    const std::vector<const CriterionInfo*>& criteria, const Confusion& u,
    const Confusion& p, Exchange exchange, Index permutations, const Exec& exec);

}  // namespace fmd
