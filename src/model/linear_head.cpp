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

// With one class for each feature.
void class_logits(const FeatureBlock& block, const std::vector<std::int32_t>& output_of,
                  const double* theta, Index outputs, double* z) {
  for (Index i = 0; i < block.rows; ++i) {
    double* row = z + i * outputs;
    for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
      const std::int32_t j = block.column[at(e)];
      row[output_of[at(j)]] += value_of(block, e) * theta[j];
    }
  }
}

void class_vjp(const FeatureBlock& block, const std::vector<std::int32_t>& output_of,
               const double* h, Index outputs, double* into) {
  for (Index i = 0; i < block.rows; ++i) {
    const double* row = h + i * outputs;
    for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
      const std::int32_t j = block.column[at(e)];
      into[j] += value_of(block, e) * row[output_of[at(j)]];
    }
  }
}

// The same for a whole head's parameters.
void whole_logits(const FeatureBlock& block, const Vector& theta, Index outputs,
                  double* z) {
  if (block.sparse()) return sparse_logits(block, theta, outputs, z);
  kernels::dense_logits(block.dense, block.rows, block.cols, theta.data(), outputs, z);
}

void whole_vjp(const FeatureBlock& block, const double* h, Index outputs, Vector& into) {
  if (block.sparse()) return sparse_vjp(block, h, outputs, into);
  kernels::dense_vjp(block.dense, block.rows, block.cols, h, outputs, into.data());
}

}  // namespace

LinearHead::LinearHead(Index inputs, Index outputs, LinearHeadOptions options)
    : inputs_(inputs), outputs_(outputs), options_(std::move(options)) {
  require_option(inputs >= 0, "linear head", "inputs", inputs, ">= 0");
  require_option(outputs >= 1, "linear head", "outputs", outputs, ">= 1");
  const bool one = link() == Link::sigmoid, any = link() == Link::identity;
  require_option(any || one == (outputs == 1), "linear head", "link", to_string(link()),
                 one ? "for one output" : "for several outputs");
  if (options_.output_of.empty()) return;
  require_size("linear head", "output_of", std::ssize(options_.output_of), inputs);
  for (const std::int32_t output : options_.output_of)
    require_option(output >= 0 && output < outputs, "linear head", "output_of", output,
                   "an output's number");
}

Index LinearHead::parameters() const {
  return (options_.output_of.empty() ? inputs_ * outputs_ : inputs_) +
         (options_.intercept ? outputs_ : 0);
}

Index LinearHead::weight(Index output, Index feature) const {
  if (!options_.output_of.empty())
    return options_.output_of[at(feature)] == output ? feature : -1;
  return output * (inputs_ + (options_.intercept ? 1 : 0)) + feature;
}

Index LinearHead::intercept(Index output) const {
  if (!options_.intercept) return -1;
  return options_.output_of.empty() ? output * (inputs_ + 1) + inputs_ : inputs_ + output;
}

std::vector<Index> LinearHead::intercepts() const {
  std::vector<Index> places;
  for (Index k = 0; k < outputs_ && options_.intercept; ++k) places.push_back(intercept(k));
  return places;
}

std::vector<Index> LinearHead::places() const {
  std::vector<Index> places(at(parameters()));
  for (Index k = 0; k < outputs_; ++k) {
    for (Index j = 0; j < inputs_; ++j)
      if (const Index own = weight(k, j); own >= 0) places[at(own)] = k * (inputs_ + 1) + j;
    if (options_.intercept) places[at(intercept(k))] = k * (inputs_ + 1) + inputs_;
  }
  return places;
}

const Vector& LinearHead::expand(const Vector& theta, Vector& spare) const {
  require_size("linear head", "theta", theta.size(), parameters());
  if (whole()) return theta;
  const std::vector<Index> to = places();
  spare.setZero(outputs_ * (inputs_ + 1));
  for (std::size_t i = 0; i < to.size(); ++i) spare[to[i]] = theta[static_cast<Index>(i)];
  return spare;
}

Vector LinearHead::shrink(Vector all) const {
  require_size("linear head", "a whole head's theta", all.size(), outputs_ * (inputs_ + 1));
  if (whole()) return all;
  return all(places());
}

Matrix LinearHead::shrink_both(Matrix all) const {
  require_size("linear head", "a whole head's matrix", all.rows(),
               outputs_ * (inputs_ + 1));
  if (whole()) return all;
  const std::vector<Index> own = places();
  return all(own, own);
}

Matrix LinearHead::W(const Vector& theta) const {
  Vector spare;
  const Vector& all = expand(theta, spare);
  return Eigen::Map<const Matrix>(all.data(), outputs_, inputs_ + 1).leftCols(inputs_);
}

Vector LinearHead::b(const Vector& theta) const {
  Vector spare;
  const Vector& all = expand(theta, spare);
  return Eigen::Map<const Matrix>(all.data(), outputs_, inputs_ + 1).col(inputs_);
}

Vector LinearHead::from(const Matrix& weights, const Vector& intercepts) const {
  require_size("linear head", "W", weights.size(), outputs_ * inputs_);
  require_size("linear head", "b", intercepts.size(), outputs_);
  Matrix all(outputs_, inputs_ + 1);
  all << weights, intercepts;
  return shrink(Eigen::Map<const Vector>(all.data(), all.size()));
}

void LinearHead::add_gauge(double scale, Matrix& matrix) const {
  if (!gauge()) return;
  for (Index k = 0; k < outputs_; ++k)
    for (Index l = 0; l < outputs_; ++l) {
      for (Index j = 0; j < inputs_; ++j) matrix(weight(k, j), weight(l, j)) += scale;
      if (options_.intercept) matrix(intercept(k), intercept(l)) += scale;
    }
}

void LinearHead::forward(const FeatureBlock& block, const Vector& theta, Matrix& z,
                         Tape*) const {
  require_size("linear head", "theta", theta.size(), parameters());
  require_size("linear head", "a row of features", block.cols, inputs_);
  z.resize(block.rows, outputs_);
  if (whole()) return whole_logits(block, theta, outputs_, z.data());
  if (block.sparse() && !options_.output_of.empty()) {
    z.setZero();
    if (options_.intercept) z.rowwise() = theta.tail(outputs_).transpose();
    return class_logits(block, options_.output_of, theta.data(), outputs_, z.data());
  }
  Vector spare;
  whole_logits(block, expand(theta, spare), outputs_, z.data());
}

void LinearHead::jvp(const FeatureBlock& block, const Vector&, const Tape&, const Vector& v,
                     Matrix& u) const {
  forward(block, v, u, nullptr);
}

void LinearHead::vjp(const FeatureBlock& block, const Vector&, const Tape&, const Matrix& h,
                     Vector& into) const {
  require_size("linear head", "the sum", into.size(), parameters());
  require_size("linear head", "a row of features", block.cols, inputs_);
  require_size("linear head", "h", h.size(), block.rows * outputs_);
  if (whole()) return whole_vjp(block, h.data(), outputs_, into);
  if (block.sparse() && !options_.output_of.empty()) {
    class_vjp(block, options_.output_of, h.data(), outputs_, into.data());
    if (options_.intercept) into.tail(outputs_) += h.colwise().sum().transpose();
    return;
  }
  Vector all = Vector::Zero(outputs_ * (inputs_ + 1));
  whole_vjp(block, h.data(), outputs_, all);
  into += shrink(std::move(all));
}

std::vector<HeadLayer> layers_of(const Head& head) {
  if (const LinearHead* linear = head.as_linear()) return {{0, *linear}};
  const std::vector<Index> widths = head.widths();
  std::vector<HeadLayer> layers;
  Index start = 0;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    layers.push_back({start, LinearHead(widths[l], widths[l + 1])});
    start += layers.back().head.parameters();
  }
  return layers;
}

}  // namespace fmd
