#include "model/layer_slopes.h"

#include "core/gemm.h"

namespace fmd::internal {

std::vector<Matrix> layer_slopes(const std::vector<Index>& widths, const Vector& theta,
                                 const Tape& tape, Matrix h) {
  std::vector<Matrix> slopes(widths.size() - 1);
  slopes.back() = std::move(h);
  Index start = theta.size();
  for (std::size_t l = slopes.size() - 1; l > 0; --l) {
    const Index below = widths[l], width = widths[l + 1];
    const Matrix& above = slopes[l];
    start -= width * (below + 1);
    slopes[l - 1].resize(above.rows(), below);
    gemm(As::is, As::is, above.rows(), below, width, {above.data(), width},
         {theta.data() + start, below + 1}, 0, {slopes[l - 1].data(), below});
    slopes[l - 1].array() *= tape.slope[l - 1].array();
  }
  return slopes;
}

}  // namespace fmd::internal
