#include "language/head_block.h"

#include <algorithm>
#include <cmath>

#include "core/gemm.h"

namespace fmd::internal {

Vector probabilities(const VocabularyHead& head, const FloatMatrix& states, Index first,
                     Index count, FloatMatrix& p) {
  const Index words = head.vocabulary(), d = head.cols();
  p.resize(count, words);
  gemm(As::is, As::transposed, count, words, d, {states.data() + first * d, d},
       {head.weight.data(), d}, 0.0F, {p.data(), words});
  Vector log_sum(count);
  for (Index i = 0; i < count; ++i) {
    auto row = p.row(i).array();
    if (!head.bias.empty())
      row += Eigen::Map<const Eigen::RowVectorXf>(head.bias.data(), words).array();
    const float top = row.maxCoeff();
    row = (row - top).exp();
    // In double by pieces: a float sum of 49,152 terms loses three digits.
    double sum = 0;
    for (Index k = 0; k < words; k += 256)
      sum +=
          static_cast<double>(p.row(i).segment(k, std::min<Index>(256, words - k)).sum());
    row *= static_cast<float>(1 / sum);
    log_sum[i] = static_cast<double>(top) + std::log(sum);
  }
  return log_sum;
}

}  // namespace fmd::internal
