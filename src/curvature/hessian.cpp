#include "fmd/curvature/hessian.h"

#include "core/check.h"
#include "fmd/core/accumulator.h"
#include "fmd/curvature/weighted_outer.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "model/block_loss.h"

namespace fmd {
namespace {

// Pairs of classes k > l, which is all that a sum needs: see HessianSum.
Index pairs_of(Index outputs) { return outputs == 1 ? 1 : outputs * (outputs - 1) / 2; }

Index pair_of(Index k, Index l) { return k * (k - 1) / 2 + l; }

}  // namespace

HessianSum::HessianSum(Index inputs, Index outputs)
    : inputs_(inputs),
      outputs_(outputs),
      sum_(Matrix::Zero(pairs_of(outputs) * (inputs + 1), inputs + 1)) {}

HessianSum::HessianSum(Index inputs, Index outputs, Index rows, Matrix sum)
    : inputs_(inputs), outputs_(outputs), rows_(rows), sum_(std::move(sum)) {
  require_size("hessian", "a sum", sum_.size(),
               pairs_of(outputs) * (inputs + 1) * (inputs + 1));
}

void HessianSum::add(const FeatureBlock& block, const Matrix& p,
                     std::span<const double> w) {
  const Index n = inputs_ + 1;
  require_size("hessian", "p", p.size(), block.rows * classes_of(outputs_));
  if (!w.empty()) require_size("hessian", "w", static_cast<Index>(w.size()), block.rows);
  std::vector<double> weight(static_cast<std::size_t>(block.rows));
  for (Index k = 1; k < classes_of(outputs_); ++k) {
    for (Index l = 0; l < k; ++l) {
      for (Index i = 0; i < block.rows; ++i) {
        const auto at = static_cast<std::size_t>(i);
        weight[at] = (w.empty() ? 1.0 : w[at]) * p(i, k) * p(i, l);
      }
      add_weighted_outer(block, weight, sum_.middleRows(pair_of(k, l) * n, n));
    }
  }
  rows_ += block.rows;
}

void HessianSum::merge(const HessianSum& other) {
  require_size("hessian", "the other sum", other.sum_.size(), sum_.size());
  sum_ += other.sum_;
  rows_ += other.rows_;
}

void HessianSum::save(ByteWriter& out) const {
  out.put(inputs_);
  out.put(outputs_);
  out.put(rows_);
  out.put_array(
      std::span<const double>(sum_.data(), static_cast<std::size_t>(sum_.size())));
}

HessianSum HessianSum::load(ByteReader& in) {
  HessianSum state;
  state.inputs_ = in.get<Index>();
  state.outputs_ = in.get<Index>();
  state.rows_ = in.get<Index>();
  const auto values = in.get_array<double>();
  // Bounds first: the sizes come from a file and their product must not overflow.
  constexpr Index kMost = Index{1} << 20;
  const bool fits = state.inputs_ >= 0 && state.inputs_ < kMost && state.outputs_ >= 1 &&
                    state.outputs_ < kMost && state.rows_ >= 0;
  const Index n = state.inputs_ + 1;
  if (!fits ||
      static_cast<double>(values.size()) !=
          static_cast<double>(pairs_of(state.outputs_)) * static_cast<double>(n * n)) {
    throw Error(ErrorKind::bad_model,
                fmt::format("hessian state: {} numbers do not fit {} inputs and {} outputs",
                            values.size(), state.inputs_, state.outputs_));
  }
  state.sum_ = Eigen::Map<const Matrix>(values.data(), pairs_of(state.outputs_) * n, n);
  return state;
}

Matrix HessianSum::matrix() const {
  const Index n = inputs_ + 1, parameters = outputs_ * n;
  Matrix full = Matrix::Zero(parameters, parameters);
  if (outputs_ == 1) {
    full = sum_.selfadjointView<Eigen::Lower>();
    return full;
  }
  for (Index k = 1; k < outputs_; ++k) {
    for (Index l = 0; l < k; ++l) {
      const Matrix pair =
          sum_.middleRows(pair_of(k, l) * n, n).selfadjointView<Eigen::Lower>();
      full.block(k * n, l * n, n, n) = -pair;
      full.block(l * n, k * n, n, n) = -pair;
      full.block(k * n, k * n, n, n) += pair;
      full.block(l * n, l * n, n, n) += pair;
    }
  }
  return full;
}

Matrix hessian(const LinearHead& head, const Rows& rows, const Vector& theta,
               const HessianOptions& options, const Exec& exec) {
  require_option(options.l2 >= 0, "hessian", "l2", options.l2, ">= 0");
  require_option(options.rows_in_mean >= 0, "hessian", "rows_in_mean", options.rows_in_mean,
                 ">= 0");
  require_size("hessian", "theta", theta.size(), head.parameters());
  require_loss(head, "hessian");
  const auto sum = reduce<HessianSum>(
      block_count(rows.size()), [&] { return HessianSum(head.inputs(), head.outputs()); },
      [&](HessianSum& state, Index b) {
        Scratch scratch;
        Matrix z;
        const FeatureBlock block = rows.block(b, scratch);
        head.logits(block, theta, z);
        Matrix p(z.rows(), classes_of(z.cols()));
        block_probabilities(z, p);
        state.add(block, p, block_weights(rows, b * kBlockRows, block.rows));
      },
      exec);
  return mean_hessian(head, sum, options);
}

Matrix mean_hessian(const LinearHead& head, const HessianSum& sum,
                    const HessianOptions& options) {
  const double n =
      options.rows_in_mean > 0 ? options.rows_in_mean : static_cast<double>(sum.rows());
  Matrix H = head.shrink_both(sum.matrix());
  if (n > 0) H /= n;
  H.diagonal() += ridge_gradient(head, Vector::Ones(H.rows()), options.l2);
  if (options.gauge && head.gauge()) {
    const double t = H.trace() / static_cast<double>(H.rows());
    head.add_gauge(t / static_cast<double>(head.outputs()), H);
  }
  return H;
}

}  // namespace fmd
