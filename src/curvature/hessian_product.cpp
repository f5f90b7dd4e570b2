#include "curvature/hessian_product.h"

#include "core/check.h"
#include "core/sums.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
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

void add_squares(const FeatureBlock& block, Index i, double scale, double* into) {
  into[block.cols] += scale;
  if (!block.sparse()) {
    const float* row = block.dense + i * block.cols;
    for (Index j = 0; j < block.cols; ++j) {
      const auto x = static_cast<double>(row[j]);
      into[j] += scale * x * x;
    }
    return;
  }
  const auto first = static_cast<std::size_t>(block.start[static_cast<std::size_t>(i)]);
  const auto last = static_cast<std::size_t>(block.start[static_cast<std::size_t>(i) + 1]);
  for (std::size_t e = first; e < last; ++e) {
    const double x = block.value.empty() ? 1.0 : static_cast<double>(block.value[e]);
    into[block.column[e]] += scale * x * x;
  }
}

HessianProduct::HessianProduct(const LinearHead& head, const Rows& rows,
                               const Vector& theta, const Terms& terms, const Exec& exec)
    : head_(head), rows_(rows), theta_(theta), terms_(terms), exec_(exec) {
  require_size("hessian", "theta", theta.size(), head.parameters());
  require_loss(head, "hessian");
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

Vector HessianProduct::diagonal() const {
  const Index outputs = head_.outputs(), stride = head_.inputs() + 1;
  Vector sum =
      reduce<Sums>(
          block_count(rows_.size()), [&] { return Sums{Vector::Zero(outputs * stride)}; },
          [&](Sums& sums, Index b) {
            Scratch scratch;
            const FeatureBlock block = rows_.block(b, scratch);
            const Matrix slopes = block_slopes(block, b);
            for (Index i = 0; i < block.rows; ++i)
              for (Index k = 0; k < outputs; ++k) {
                const double p = slopes(i, k);
                const double s = outputs == 1 ? p : slopes(i, outputs) * p * (1 - p);
                add_squares(block, i, s, sums.values.data() + k * stride);
              }
          },
          exec_)
          .values;
  sum = head_.shrink(std::move(sum)) / terms_.n;
  sum.array() += terms_.damping;
  if (head_.gauge()) sum.array() += terms_.gauge / static_cast<double>(outputs);
  return sum + ridge_gradient(head_, Vector::Ones(dim()), terms_.l2);
}

Matrix HessianProduct::apply(const Matrix& V) const {
  require_size("hessian", "a direction", V.rows(), dim());
  const Index count = V.cols(), outputs = head_.outputs();
  // All directions side by side are the weights of one head with more outputs.
  const LinearHead wide(head_.inputs(), outputs * count);
  const Index each = wide.parameters() / count;
  Vector stacked(wide.parameters()), spare;
  for (Index j = 0; j < count; ++j)
    stacked.segment(j * each, each) = head_.expand(V.col(j), spare);
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
              wide.jvp(tile, stacked, {}, stacked, u);
              for (Index r = 0; r < n; ++r)
                apply_slopes(slope + (i + r) * width, outputs, count, u.row(r).data());
              wide.vjp(tile, stacked, {}, u, sums.values);
            }
          },
          exec_)
          .values;
  Matrix result(dim(), count);
  for (Index j = 0; j < count; ++j)
    result.col(j) = head_.shrink(sum.segment(j * each, each)) / terms_.n;
  result += terms_.damping * V;
  result += ridge_gradient(head_, Vector::Ones(dim()), terms_.l2).asDiagonal() * V;
  if (terms_.gauge == 0 || !head_.gauge()) return result;
  const auto hold = [&](const auto& place) {
    Eigen::RowVectorXd total = Eigen::RowVectorXd::Zero(count);
    for (Index k = 0; k < outputs; ++k) total += V.row(place(k));
    for (Index k = 0; k < outputs; ++k)
      result.row(place(k)) += terms_.gauge / static_cast<double>(outputs) * total;
  };
  for (Index j = 0; j < head_.inputs(); ++j)
    hold([&](Index k) { return head_.weight(k, j); });
  if (head_.options().intercept) hold([&](Index k) { return head_.intercept(k); });
  return result;
}

}  // namespace fmd::internal
