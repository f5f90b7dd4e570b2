#include "curvature/hessian_product.h"

#include "core/check.h"
#include "core/sums.h"
#include "fmd/model/loss.h"
#include "model/block_loss.h"
#include "model/slice.h"

namespace fmd::internal {
namespace {

// Rows in one tile: their features stay in the second-level cache from J v to J^T h.
constexpr Index kProductRows = 256;
constexpr Index kMostSlopes = Index{1} << 25;  // numbers; 256 MB

// u becomes w S u for one row and `count` directions of `outputs` logits each.
void apply_slopes(const double* slope, Index outputs, Index count, double* u) {
  if (outputs == 1) {
    for (Index j = 0; j < count; ++j) u[j] *= slope[0];
    return;
  }
  const double weight = slope[outputs];
  for (Index j = 0; j < count; ++j, u += outputs) {
    double mean = 0;
    for (Index k = 0; k < outputs; ++k) mean += slope[k] * u[k];
    for (Index k = 0; k < outputs; ++k) u[k] = weight * slope[k] * (u[k] - mean);
  }
}

double squared_norm(const FeatureBlock& block, Index i) {
  double sum = 0;
  if (!block.sparse()) {
    const Eigen::Map<const Eigen::VectorXf> row(block.dense + i * block.cols, block.cols);
    return static_cast<double>(row.squaredNorm());
  }
  const auto first = static_cast<std::size_t>(block.start[static_cast<std::size_t>(i)]);
  const auto last = static_cast<std::size_t>(block.start[static_cast<std::size_t>(i) + 1]);
  if (block.value.empty()) return static_cast<double>(last - first);
  for (std::size_t e = first; e < last; ++e)
    sum += static_cast<double>(block.value[e]) * static_cast<double>(block.value[e]);
  return sum;
}

}  // namespace

HessianProduct::HessianProduct(const LinearHead& head, const Rows& rows,
                               const Vector& theta, const Terms& terms, const Exec& exec)
    : head_(head), rows_(rows), theta_(theta), terms_(terms), exec_(exec) {
  require_size("hessian", "theta", theta.size(), head.parameters());
  const Index width = head.outputs() == 1 ? 1 : head.outputs() + 1;
  if (rows.size() * width > kMostSlopes) return;
  Matrix kept(rows.size(), width);
  exec.for_each(block_count(rows.size()), [&](Index b) {
    Scratch scratch;
    const FeatureBlock block = rows_.block(b, scratch);
    kept.middleRows(b * kBlockRows, block.rows) = block_slopes(block, b);
  });
  slopes_ = std::move(kept);
}

// What S needs of each row: w p (1 - p) for one output, otherwise the probabilities and w.
Matrix HessianProduct::block_slopes(const FeatureBlock& block, Index b) const {
  if (slopes_.size() > 0) return slopes_.middleRows(b * kBlockRows, block.rows);
  Matrix z;
  head_.logits(block, theta_, z);
  Matrix p(z.rows(), classes_of(z.cols()));
  block_probabilities(z, p);
  Vector w = Vector::Ones(block.rows);
  for (Index i = 0; i < block.rows && !rows_.weight.empty(); ++i)
    w[i] = rows_.weight_of(b * kBlockRows + i);
  if (head_.outputs() == 1)
    return (w.array() * p.col(0).array() * p.col(1).array()).matrix();
  Matrix slopes(block.rows, p.cols() + 1);
  slopes.leftCols(p.cols()) = p;
  slopes.col(p.cols()) = w;
  return slopes;
}

Vector HessianProduct::row_traces() const {
  Vector traces(rows_.size());
  exec_.for_each(block_count(rows_.size()), [&](Index b) {
    Scratch scratch;
    const FeatureBlock block = rows_.block(b, scratch);
    const Matrix slopes = block_slopes(block, b);
    const Index outputs = head_.outputs();
    for (Index i = 0; i < block.rows; ++i) {
      const double spread =
          outputs == 1
              ? slopes(i, 0)
              : slopes(i, outputs) * (1 - slopes.row(i).head(outputs).squaredNorm());
      traces[b * kBlockRows + i] = spread * (squared_norm(block, i) + 1);
    }
  });
  return traces;
}

Matrix HessianProduct::apply(const Matrix& V) const {
  require_size("hessian", "a direction", V.rows(), dim());
  const Index count = V.cols(), outputs = head_.outputs(), stride = head_.inputs() + 1;
  // All directions side by side are the weights of one head with more outputs.
  const LinearHead wide(head_.inputs(), outputs * count);
  const Matrix directions = V.transpose();
  const Vector stacked = Eigen::Map<const Vector>(directions.data(), directions.size());
  const Vector sum =
      reduce<Sums>(
          block_count(rows_.size()), [&] { return Sums{Vector::Zero(stacked.size())}; },
          [&](Sums& sums, Index b) {
            Scratch scratch;
            Matrix u;
            const FeatureBlock block = rows_.block(b, scratch);
            const bool kept = slopes_.size() > 0;
            const Matrix made = kept ? Matrix() : block_slopes(block, b);
            const double* slope = kept ? slopes_.row(b * kBlockRows).data() : made.data();
            const Index width = kept ? slopes_.cols() : made.cols();
            for (Index i = 0; i < block.rows; i += kProductRows) {
              const Index n = std::min(kProductRows, block.rows - i);
              const FeatureBlock tile = slice(block, i, n);
              wide.logits(tile, stacked, u);
              for (Index r = 0; r < n; ++r)
                apply_slopes(slope + (i + r) * width, outputs, count, u.row(r).data());
              wide.vjp(tile, stacked, {}, u, sums.values);
            }
          },
          exec_)
          .values;
  Matrix result = Eigen::Map<const Matrix>(sum.data(), count, dim()).transpose() / terms_.n;
  result += terms_.damping * V;
  for (Index j = 0; j < dim(); ++j)
    if (j % stride != stride - 1) result.row(j) += terms_.l2 * V.row(j);
  if (terms_.gauge == 0 || outputs == 1) return result;
  for (Index j = 0; j < stride; ++j) {
    Eigen::RowVectorXd total = Eigen::RowVectorXd::Zero(count);
    for (Index k = 0; k < outputs; ++k) total += V.row(k * stride + j);
    for (Index k = 0; k < outputs; ++k)
      result.row(k * stride + j) += terms_.gauge / static_cast<double>(outputs) * total;
  }
  return result;
}

}  // namespace fmd::internal
