#include <algorithm>

#include "core/check.h"
#include "fmd/model/head.h"
#include "model/kernels.h"

namespace fmd {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double value_of(const FeatureBlock& block, Index entry) {
  return block.value.empty() ? 1.0 : static_cast<double>(block.value[at(entry)]);
}

// One sum, entry after entry: a feature of weight 0 changes no bit, wherever it stands, so
// answers that are equal for both sides of a pair come out equal.
void one_sparse_logit(const FeatureBlock& block, const double* theta, double* z) {
  const std::int32_t* const column = block.column.data();
  const float* const value = block.value.empty() ? nullptr : block.value.data();
  for (Index i = 0; i < block.rows; ++i) {
    const Index to = block.start[at(i) + 1];
    double sum = theta[block.cols];
    for (Index e = block.start[at(i)]; e < to; ++e)
      sum += value == nullptr ? theta[column[e]]
                              : theta[column[e]] * static_cast<double>(value[e]);
    z[i] = sum;
  }
}

// Weights feature by feature, so that one entry of a row meets the outputs side by side.
Matrix by_feature(const Vector& theta, Index inputs, Index outputs) {
  return Eigen::Map<const Matrix>(theta.data(), outputs, inputs + 1).transpose();
}

void sparse_logits(const FeatureBlock& block, const Vector& theta, Index outputs,
                   double* z) {
  if (outputs == 1) return one_sparse_logit(block, theta.data(), z);
  const Matrix w = by_feature(theta, block.cols, outputs);
  for (Index i = 0; i < block.rows; ++i) {
    double* row = z + i * outputs;
    std::copy_n(w.data() + block.cols * outputs, outputs, row);
    for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
      const double x = value_of(block, e);
      const double* column = w.data() + block.column[at(e)] * outputs;
      for (Index k = 0; k < outputs; ++k) row[k] += x * column[k];
    }
  }
}

void one_sparse_vjp(const FeatureBlock& block, const double* h, double* into) {
  const std::int32_t* const column = block.column.data();
  const float* const value = block.value.empty() ? nullptr : block.value.data();
  double intercept = into[block.cols];
  for (Index i = 0; i < block.rows; ++i) {
    const Index to = block.start[at(i) + 1];
    const double slope = h[i];
    if (value == nullptr) {
      for (Index e = block.start[at(i)]; e < to; ++e) into[column[e]] += slope;
    } else {
      for (Index e = block.start[at(i)]; e < to; ++e)
        into[column[e]] += slope * static_cast<double>(value[e]);
    }
    intercept += slope;
  }
  into[block.cols] = intercept;
}

void sparse_vjp(const FeatureBlock& block, const double* h, Index outputs, Vector& into) {
  if (outputs == 1) return one_sparse_vjp(block, h, into.data());
  Matrix sum = Matrix::Zero(block.cols + 1, outputs);
  for (Index i = 0; i < block.rows; ++i) {
    const double* row = h + i * outputs;
    for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
      const double x = value_of(block, e);
      double* column = sum.data() + block.column[at(e)] * outputs;
      for (Index k = 0; k < outputs; ++k) column[k] += x * row[k];
    }
    double* intercept = sum.data() + block.cols * outputs;
    for (Index k = 0; k < outputs; ++k) intercept[k] += row[k];
  }
  Eigen::Map<Matrix>(into.data(), outputs, block.cols + 1) += sum.transpose();
}

}  // namespace

LinearHead::LinearHead(Index inputs, Index outputs) : inputs_(inputs), outputs_(outputs) {
  require_option(inputs >= 0, "linear head", "inputs", inputs, ">= 0");
  require_option(outputs >= 1, "linear head", "outputs", outputs, ">= 1");
}

void LinearHead::logits(const FeatureBlock& block, const Vector& theta, Matrix& z) const {
  require_size("linear head", "theta", theta.size(), parameters());
  require_size("linear head", "a row of features", block.cols, inputs_);
  z.resize(block.rows, outputs_);
  if (block.sparse()) {
    sparse_logits(block, theta, outputs_, z.data());
  } else {
    kernels::dense_logits(block.dense, block.rows, inputs_, theta.data(), outputs_,
                          z.data());
  }
}

void LinearHead::jvp(const FeatureBlock& block, const Vector&, const Vector& v,
                     Matrix& u) const {
  logits(block, v, u);
}

void LinearHead::vjp(const FeatureBlock& block, const Vector&, const Matrix& h,
                     Vector& into) const {
  require_size("linear head", "the sum", into.size(), parameters());
  require_size("linear head", "a row of features", block.cols, inputs_);
  require_size("linear head", "h", h.size(), block.rows * outputs_);
  if (block.sparse()) {
    sparse_vjp(block, h.data(), outputs_, into);
  } else {
    kernels::dense_vjp(block.dense, block.rows, inputs_, h.data(), outputs_, into.data());
  }
}

}  // namespace fmd
