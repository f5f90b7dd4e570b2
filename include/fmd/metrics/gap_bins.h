#pragma once

#include <cstddef>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exact_sum.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// Gaps between 0 and 1, counted by size: in each power of two their number, sum and sum of
// squares. This is enough for the mean, and for bootstrapping it at any number of gaps.
class GapBins {
 public:
  static constexpr std::size_t kBins = 32;  // below 2^-31, then one for each power of two

  void add(double gap);
  void merge(const GapBins& other);
  void save(ByteWriter& out) const;
  void load(ByteReader& in);  // throws Error(bad_model)

  [[nodiscard]] Index count() const;
  [[nodiscard]] double mean() const;
  [[nodiscard]] double variance() const;
  // Mean of the gaps with its interval. The rows that have a gap, and `others` that have
  // none, are resampled together: bins by multinomial draws, gaps within a bin by the
  // normal distribution with its mean and variance. The acceleration of BCa comes from the
  // same two moments.
  [[nodiscard]] Interval interval(Index others, double confidence, Index replicates,
                                  const Exec& exec,
                                  Bootstrap intervals = Bootstrap::percentile) const;

 private:
  std::vector<Index> count_;  // empty before the first gap
  std::vector<ExactSum> sum_, squares_;
};

}  // namespace fmd
