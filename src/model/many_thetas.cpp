#include "model/many_thetas.h"

#include <algorithm>

#include "core/index.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "model/block_loss.h"

namespace fmd::internal {
namespace {

constexpr Index kTogether = 32;  // thetas whose weights stay in the second-level cache

bool read_once(const Head& head, const Rows& rows) {
  const LinearHead* linear = head.as_linear();
  if (linear == nullptr || !linear->whole() || linear->outputs() != 1 || rows.size() == 0)
    return false;
  Scratch scratch;
  const FeatureBlock first = rows.block(0, scratch);
  return first.sparse() && first.offset == nullptr;
}

// Logits of a block: rows x thetas. weights: features and the intercept x thetas. The terms
// of a row are added in the order in which one theta alone adds them.
void sparse_logits(const FeatureBlock& block, const Matrix& weights, Matrix& z) {
  const Index count = weights.cols();
  z.resize(block.rows, count);
  for (Index i = 0; i < block.rows; ++i) {
    double* const row = z.row(i).data();
    std::copy_n(weights.row(block.cols).data(), count, row);
    for (Index e = block.start[at(i)]; e < block.start[at(i + 1)]; ++e) {
      const double* const w = weights.row(block.column[at(e)]).data();
      if (block.value.empty()) {
        for (Index k = 0; k < count; ++k) row[k] += w[k];
      } else {
        const auto x = static_cast<double>(block.value[at(e)]);
        for (Index k = 0; k < count; ++k) row[k] += w[k] * x;
      }
    }
  }
}

}  // namespace

std::vector<Matrix> probabilities_of_each(const Head& head, const Rows& rows,
                                          std::span<const Vector* const> thetas,
                                          const Exec& exec) {
  std::vector<Matrix> all;
  if (thetas.size() < 2 || !read_once(head, rows)) {
    for (const Vector* theta : thetas)
      all.push_back(all_probabilities(head, rows, *theta, exec));
    return all;
  }
  all.assign(thetas.size(), Matrix(rows.size(), classes_of(head.outputs())));
  for (std::size_t first = 0; first < thetas.size(); first += kTogether) {
    const std::size_t count = std::min(thetas.size() - first, std::size_t{kTogether});
    Matrix weights(head.parameters(), static_cast<Index>(count));
    for (std::size_t k = 0; k < count; ++k)
      weights.col(static_cast<Index>(k)) = *thetas[first + k];
    exec.for_each(block_count(rows.size()), [&](Index b) {
      Scratch scratch;
      const FeatureBlock block = rows.block(b, scratch);
      Matrix z;
      sparse_logits(block, weights, z);
      for (std::size_t k = 0; k < count; ++k)
        link_probabilities(head.link(), z.col(static_cast<Index>(k)),
                           all[first + k].middleRows(b * kBlockRows, z.rows()));
    });
  }
  return all;
}

}  // namespace fmd::internal
