#include "fmd/model/linear_head.h"

#include <algorithm>

#include "core/check.h"
#include "core/index.h"
#include "model/kernels.h"

namespace fmd {
namespace {

double value_of(const FeatureBlock& block, Index entry) {
  return block.value.empty() ? 1.0 : static_cast<double>(block.value[at(entry)]);
}

// Each row is one sum, entry after entry: a feature of weight 0 changes no bit, wherever it
// stands, so answers that are equal for both sides of a pair come out equal. Two rows at a
// time: one sum alone waits for each of its additions.
template <typename Term>
void sparse_sums(const FeatureBlock& block, double intercept, const Term& term, double* z) {
  Index i = 0;
  for (; i + 2 <= block.rows; i += 2) {
    const Index a = block.start[at(i)], b = block.start[at(i + 1)];
    const Index length_a = b - a, length_b = block.start[at(i + 2)] - b;
    const Index both = std::min(length_a, length_b);
    double first = intercept, second = intercept;
    for (Index e = 0; e < both; ++e) {
      first += term(a + e);
      second += term(b + e);
    }
    for (Index e = both; e < length_a; ++e) first += term(a + e);
    for (Index e = both; e < length_b; ++e) second += term(b + e);
    z[i] = first;
    z[i + 1] = second;
  }
  if (i == block.rows) return;
  z[i] = intercept;
  for (Index e = block.start[at(i)]; e < block.start[at(i + 1)]; ++e) z[i] += term(e);
}

void one_sparse_logit(const FeatureBlock& block, const double* theta, double* z) {
  const std::int32_t* const column = block.column.data();
  const float* const value = block.value.data();
  const double intercept = theta[block.cols];
  if (block.value.empty()) {
    sparse_sums(
        block, intercept, [=](Index e) { return theta[column[e]]; }, z);
  } else {
    const auto term = [=](Index e) {
      return theta[column[e]] * static_cast<double>(value[e]);
    };
    sparse_sums(block, intercept, term, z);
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

void LinearHead::logits(const FeatureBlock& block, const Vector& theta, Matrix& z,
                        Tape*) const {
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

void LinearHead::jvp(const FeatureBlock& block, const Vector&, const Tape&, const Vector& v,
                     Matrix& u) const {
  logits(block, v, u, nullptr);
}

void LinearHead::vjp(const FeatureBlock& block, const Vector&, const Tape&, const Matrix& h,
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
