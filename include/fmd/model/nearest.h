#pragma once

#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/rows.h"

namespace fmd {

// euclidean   |x - y|; of whitened rows (see whiten) this is the Mahalanobis distance
// cosine      1 - x . y / (|x| |y|); 1 where one of them is 0
// overlap     1 - x . y / scale, for rows of zeros and ones: the share of `scale` columns
//             in which two rows differ
enum class Distance { euclidean, cosine, overlap };

struct NearestOptions {
  Index k = 1;  // >= 1
  Distance distance = Distance::euclidean;
  double scale = 1;        // overlap: how many ones a row has at most; > 0
  bool skip_self = false;  // a row is not its own neighbour (both sides: the same X)
};

// The k nearest candidates of every query, nearest first, equal distances by row number.
struct Neighbours {
  Index k = 0;
  std::vector<Index> row;  // queries x k: row of candidates.X; -1 where there are fewer
  std::vector<double> distance;  // queries x k; infinite where there are fewer

  [[nodiscard]] Index queries() const {
    return k == 0 ? 0 : static_cast<Index>(row.size()) / k;
  }
};

// The exact nearest neighbours. Distances first come from tiles of a float32 matrix
// product. Every candidate within that product's rounding error of the k best is computed
// again in double, from the features themselves, so neither rounding nor cancellation
// decides. Cost: 2 queries x candidates x features operations, on the pool; memory: a few
// thousand dense rows per thread. Sparse features are expanded tile by tile.
// candidates.subset must ascend. Throws Error (bad_option, bad_shape, bad_data: features
// that are not finite).
[[nodiscard]] Neighbours nearest(const Rows& queries, const Rows& candidates,
                                 const NearestOptions& options, const Exec& exec);

}  // namespace fmd
