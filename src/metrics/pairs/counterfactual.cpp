#include "fmd/metrics/counterfactual.h"

#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "fmd/metrics/flip_tally.h"
#include "metrics/pairs/pair_values.h"

namespace fmd {

FlipReport flip_report(const PairScores& scores, Index values, const FlipOptions& options,
                       const Exec& exec) {
  require_pairs(scores);
  FlipTally tally({.classes = std::max<Index>(2, scores.p.cols()),
                   .values = values,
                   .by_value = !scores.from.empty()});
  if (scores.p.rows() > 0) tally.add(scores);
  return flip_report(tally, options, exec);
}

Vector unit_gaps(const PairScores& scores, const std::string& measure) {
  const bool known = measure == "co" || measure == "co_tv" || measure == "flip_rate";
  require_option(known, "unit_gaps", "measure", measure, "co, co_tv or flip_rate");
  require_pairs(scores);
  const std::vector<Index> starts = unit_starts(scores);
  Vector gaps(static_cast<Index>(starts.size()) - 1);
  for (Index u = 0; u < gaps.size(); ++u) {
    double sum = 0, weight = 0;
    for (Index i = starts[at(u)]; i < starts[at(u) + 1]; ++i) {
      const PairValue pair = pair_value(scores, i);
      const double gap = measure == "co"      ? std::abs(pair.change)
                         : measure == "co_tv" ? pair.tv
                                              : (pair.flipped ? 1.0 : 0.0);
      if (std::isnan(gap)) continue;
      sum += pair_weight(scores, i) * gap;
      weight += pair_weight(scores, i);
    }
    gaps(u) = weight == 0 ? kUndefined : sum / weight;
  }
  return gaps;
}

}  // namespace fmd
