#pragma once

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/core/rng.h"
#include "fmd/core/types.h"

// Sums of many resampled rows, drawn from the normal distribution.
namespace fmd::internal {

// Means, covariance of n rows (lower triangle) and, for each column, sum |x - mean|^3.
struct Moments {
  Vector mean;
  Matrix covariance;
  Vector third;
};

[[nodiscard]] Moments moments(const Matrix& statistics, const Exec& exec);

// Whether the sum of n draws is normal in every column, to .012 in probability (Berry and
// Esseen).
[[nodiscard]] bool nearly_normal(const Moments& m, Index n);

// The same of some of the rows, beside the spread of all of them.
[[nodiscard]] bool nearly_normal(const Moments& part, Index of, const Moments& all,
                                 Index n);

// Sums of any number of draws from rows with these moments.
class NormalSums {
 public:
  explicit NormalSums(const Moments* m);  // null: draw() is not called
  [[nodiscard]] Vector draw(Index draws, Rng& rng) const;

 private:
  Vector mean_;
  Matrix root_;  // of the covariance
};

// What bootstrap_sums() gives for n rows with these moments, from the normal distribution.
[[nodiscard]] Matrix normal_sums(const Moments& m, Index n, Index replicates,
                                 const Exec& exec);

}  // namespace fmd::internal
