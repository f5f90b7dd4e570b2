#include "model/block_loss.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "model/kernels.h"

namespace fmd::internal {
namespace {

// One row of logits becomes z - max; returns the place of the maximum.
Index shift_by_top(double* z, Index outputs) {
  const Index top = std::max_element(z, z + outputs) - z;
  const double shift = z[top];
  for (Index k = 0; k < outputs; ++k) z[k] -= shift;
  return top;
}

[[noreturn]] void unknown_label(const Rows& rows, Index entry, Index classes) {
  throw Error(ErrorKind::bad_data,
              fmt::format("loss: row {} has label {}, must be 0 to {}", rows.row(entry),
                          rows.label(entry), classes - 1),
              "leave rows without a label out, or give them weight 0");
}

std::int32_t checked_label(const Rows& rows, Index entry, Index classes) {
  const std::int32_t y = rows.label(entry);
  if (y < 0 || y >= classes) unknown_label(rows, entry, classes);
  return y;
}

double logistic_block(const Rows& rows, Index first, Matrix& z) {
  const Index n = z.rows();
  Vector sign(n), p(n), loss(n);
  for (Index i = 0; i < n; ++i) {
    const bool gone = rows.weight_of(first + i) == 0;
    // Arithmetic, not a branch: labels cannot be predicted.
    sign[i] = gone ? 1 : 2 * checked_label(rows, first + i, 2) - 1;
  }
  kernels::logistic_loss(z.data(), sign.data(), n, p.data(), loss.data());
  double sum = 0;
  for (Index i = 0; i < n; ++i) {
    const double w = rows.weight_of(first + i);
    z(i, 0) = w == 0 ? 0 : w * (p[i] - 0.5 * (sign[i] + 1));
    if (w != 0) sum += w * loss[i];
  }
  return sum;
}

double softmax_block(const Rows& rows, Index first, Matrix& z) {
  const Index n = z.rows(), outputs = z.cols();
  std::vector<Index> top(static_cast<std::size_t>(n));
  Vector z_y(n);
  for (Index i = 0; i < n; ++i) {
    double* row = z.data() + i * outputs;
    top[static_cast<std::size_t>(i)] = shift_by_top(row, outputs);
    if (rows.weight_of(first + i) != 0)
      z_y[i] = row[checked_label(rows, first + i, outputs)];
  }
  kernels::exp_nonpositive(z.data(), z.size());
  double sum = 0;
  for (Index i = 0; i < n; ++i) {
    double* row = z.data() + i * outputs;
    const double w = rows.weight_of(first + i);
    if (w == 0) {
      std::fill_n(row, outputs, 0.0);
      continue;
    }
    double others = 0;
    for (Index k = 0; k < outputs; ++k)
      if (k != top[static_cast<std::size_t>(i)]) others += row[k];
    sum += w * (std::log1p(others) - z_y[i]);
    const double scale = w / (1 + others);
    for (Index k = 0; k < outputs; ++k) row[k] *= scale;
    row[rows.label(first + i)] -= w;
  }
  return sum;
}

// The fractions of a forest are floats: their sum may miss 0 or 1 by the last digits.
double without_rounding(double p) {
  constexpr double kDigits = 1e-5;
  if (p < 0 && p > -kDigits) return 0;
  return p > 1 && p < 1 + kDigits ? 1 : p;
}

}  // namespace

void link_probabilities(Link link, const Matrix& z, Eigen::Ref<Matrix> p) {
  if (link == Link::softmax || link == Link::sigmoid) return block_probabilities(z, p);
  if (link == Link::one_vs_rest) {
    Matrix each(z.rows(), z.cols()), rest(z.rows(), z.cols());
    kernels::sigmoid(z.data(), z.size(), each.data(), rest.data());
    p = each.array().colwise() / each.rowwise().sum().array();
  } else if (z.cols() > 1) {
    p = z.unaryExpr(&without_rounding);
  } else {
    p.col(1) = z.col(0).unaryExpr(&without_rounding);
    p.col(0) = 1 - p.col(1).array();
  }
}

void block_probabilities(const Matrix& z, Eigen::Ref<Matrix> p) {
  const Index n = z.rows(), outputs = z.cols();
  if (outputs == 1) {
    Vector p1(n), p0(n);
    kernels::sigmoid(z.data(), n, p1.data(), p0.data());
    p.col(0) = p0;
    p.col(1) = p1;
    return;
  }
  kernels::softmax(z.data(), n, outputs, p.data());  // p: whole rows of a row-major matrix
}

double block_loss_gradient(const Rows& rows, Index first, Matrix& z) {
  return z.cols() == 1 ? logistic_block(rows, first, z) : softmax_block(rows, first, z);
}

std::vector<double> block_weights(const Rows& rows, Index first, Index count) {
  std::vector<double> w;
  if (rows.weight.empty()) return w;
  w.reserve(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) w.push_back(rows.weight_of(first + i));
  return w;
}

}  // namespace fmd::internal
