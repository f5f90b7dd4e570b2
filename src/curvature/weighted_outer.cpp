#include "fmd/curvature/weighted_outer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/index.h"
#include "core/lapack.h"
#include "model/kernels.h"

namespace fmd {
namespace {

// Rows in one SYRK: a tile of 100 features stays in the second-level cache.
constexpr Index kTileRows = 256;

// into += sign T^T T for the first `rows` rows of the tile.
void add_tile(const std::vector<double>& tile, Index rows, double sign,
              Eigen::Ref<Matrix> into) {
  // Row-major lower is column-major upper, and the tile's rows are columns there.
  const int n = static_cast<int>(into.rows()), k = static_cast<int>(rows);
  const int stride = static_cast<int>(into.outerStride());
  const double one = 1;
  dsyrk_("U", "N", &n, &k, &sign, tile.data(), &n, &one, into.data(), &stride);
}

// The rows whose weight has the given sign, scaled by sqrt |weight|.
void add_dense(const FeatureBlock& block, std::span<const double> weight, double sign,
               Eigen::Ref<Matrix> into) {
  const Index d = block.cols;
  std::vector<double> tile;
  Index filled = 0;
  for (Index i = 0; i < block.rows; ++i) {
    const double w = sign * weight[at(i)];
    if (!(w > 0)) continue;
    if (tile.empty()) tile.resize(at(std::min(kTileRows, block.rows - i) * (d + 1)));
    const double scale = std::sqrt(w);
    double* row = tile.data() + filled * (d + 1);
    kernels::widen(block.dense + i * d, d, scale, row);
    row[d] = scale;
    if (++filled < kTileRows) continue;
    add_tile(tile, filled, sign, into);
    filled = 0;
  }
  if (filled > 0) add_tile(tile, filled, sign, into);
}

// Columns ascend within a row, so pairs (a, b <= a) all fall on the lower triangle.
template <bool kOnes>
void add_sparse(const FeatureBlock& block, std::span<const double> weight,
                Eigen::Ref<Matrix> into) {
  const Index stride = into.outerStride();
  double* const sum = into.data();
  double* const intercept = sum + block.cols * stride;
  const std::int32_t* const column = block.column.data();
  const float* const value = block.value.data();
  for (Index i = 0; i < block.rows; ++i) {
    const double w = weight[at(i)];
    if (w == 0) continue;
    const Index from = block.start[at(i)], to = block.start[at(i) + 1];
    for (Index a = from; a < to; ++a) {
      const double wa = kOnes ? w : w * static_cast<double>(value[a]);
      double* const row = sum + column[a] * stride;
      for (Index b = from; b <= a; ++b)
        row[column[b]] += kOnes ? wa : wa * static_cast<double>(value[b]);
      intercept[column[a]] += wa;
    }
    intercept[block.cols] += w;
  }
}

}  // namespace

void add_weighted_outer(const FeatureBlock& block, std::span<const double> weight,
                        Eigen::Ref<Matrix> into) {
  require_size("outer products", "weight", static_cast<Index>(weight.size()), block.rows);
  require_size("outer products", "a row of the sum", into.cols(), block.cols + 1);
  require_size("outer products", "a column of the sum", into.rows(), block.cols + 1);
  if (block.sparse()) {
    if (block.value.empty()) {
      add_sparse<true>(block, weight, into);
    } else {
      add_sparse<false>(block, weight, into);
    }
    return;
  }
  add_dense(block, weight, 1, into);
  if (std::any_of(weight.begin(), weight.end(), [](double w) { return w < 0; }))
    add_dense(block, weight, -1, into);
}

}  // namespace fmd
