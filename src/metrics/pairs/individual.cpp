#include "fmd/metrics/individual.h"

#include "core/check.h"
#include "core/index.h"
#include "fmd/metrics/bca.h"

namespace fmd {
namespace {

// The share of a query's neighbours with this property; NaN where it has no neighbours.
template <typename Property>
double share_of_near(const Neighbours& near, Index query, const Property& property) {
  double count = 0, total = 0;
  for (Index k = 0; k < near.k; ++k) {
    const Index row = near.row[at(query * near.k + k)];
    if (row < 0) continue;
    count += property(row) ? 1 : 0;
    total += 1;
  }
  return total > 0 ? count / total : kUndefined;
}

}  // namespace

Interval consistency(const Scored& scored, const Neighbours& near, double confidence,
                     Index replicates, const Exec& exec, Bootstrap intervals) {
  require_size("consistency", "neighbours", near.queries(), scored.rows());
  Vector alike(scored.rows());
  for (Index i = 0; i < scored.rows(); ++i) {
    const std::int32_t own = scored.decision[at(i)];
    alike[i] = 1 - share_of_near(
                       near, i, [&](Index row) { return scored.decision[at(row)] != own; });
  }
  return bootstrap_mean(alike, confidence, replicates, intervals, exec);
}

Interval flip_test(const Scored& scored, std::span<const Index> rows,
                   const Neighbours& near, double confidence, Index replicates,
                   const Exec& exec, Bootstrap intervals) {
  require_size("flip test", "neighbours", near.queries(), std::ssize(rows));
  if (scored.favorable < 0 || rows.empty()) return {};
  Vector flips(std::ssize(rows));
  for (Index i = 0; i < flips.size(); ++i) {
    const bool own = scored.decision[at(rows[at(i)])] == scored.favorable;
    const bool theirs = share_of_near(near, i, [&](Index row) {
                          return scored.decision[at(row)] == scored.favorable;
                        }) > 0.5;
    flips[i] = (theirs ? 1 : 0) - (own ? 1 : 0);
  }
  return bootstrap_mean(flips, confidence, replicates, intervals, exec);
}

}  // namespace fmd
