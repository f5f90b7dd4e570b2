#include "curvature/curvature_sample.h"

#include <algorithm>
#include <cmath>

namespace fmd::internal {
namespace {

// The factor f for which min(1, f trace) sums to count, found in rounds: an entry that
// reaches 1 stays there.
double draw_factor(const Vector& traces, Index count) {
  constexpr int kRounds = 30;
  double factor = static_cast<double>(count) / traces.sum();
  for (int round = 0; round < kRounds; ++round) {
    Index sure = 0;
    double rest = 0;
    for (const double trace : traces) {
      if (factor * trace >= 1)
        ++sure;
      else
        rest += trace;
    }
    if (rest <= 0 || sure >= count) break;
    const double next = static_cast<double>(count - sure) / rest;
    if (!(next > factor * (1 + 1e-12))) break;
    factor = next;
  }
  return factor;
}

}  // namespace

CurvatureSample draw_by_trace(const Vector& traces, Index count) {
  CurvatureSample sample;
  if (!(traces.sum() > 0) || !std::isfinite(traces.sum())) return sample;
  const double factor = draw_factor(traces, count);
  // Systematic: an entry is drawn when the running sum of probabilities passes a half.
  double sum = 0, next = 0.5;
  for (Index i = 0; i < traces.size(); ++i) {
    const double probability = std::min(1.0, factor * traces[i]);
    if (!(probability > 0)) continue;
    sum += probability;
    if (sum < next) continue;
    next += 1;
    sample.entries.push_back(i);
    sample.weight.push_back(1 / probability);
  }
  return sample;
}

}  // namespace fmd::internal
