#include "curvature/kfac.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/gemm.h"
#include "core/index.h"
#include "core/sums.h"
#include "curvature/hessian_product.h"
#include "curvature/residual.h"
#include "fmd/curvature/weighted_outer.h"
#include "fmd/model/loss.h"
#include "model/block_loss.h"
#include "model/layer_slopes.h"

namespace fmd::internal {
namespace {

// Where each layer's A and G stand in one vector of sums, and its parameters in theta.
struct Place {
  Index below, width, a, g, start;

  static constexpr Index kMostFull = 4000;
  [[nodiscard]] Index inputs() const { return below + 1; }
  [[nodiscard]] bool full() const { return below <= kMostFull; }
  [[nodiscard]] Index numbers() const { return full() ? inputs() * inputs() : inputs(); }
};

std::vector<Place> places_of(const Head& head, Index& total) {
  std::vector<Place> places;
  Index next = 0;
  for (const HeadLayer& layer : layers_of(head)) {
    const Index below = layer.head.inputs(), width = layer.head.outputs();
    places.push_back({below, width, next, 0, layer.start});
    places.back().g = next + places.back().numbers();
    next = places.back().g + width * width;
  }
  total = next;
  return places;
}

class BlockSums {
 public:
  BlockSums(const Head& head, const Vector& theta, const std::vector<Place>& places)
      : head_(head), theta_(theta), places_(places) {}

  void add(const FeatureBlock& block, const Rows& rows, Index first, Vector& sums) const {
    Matrix z;
    Tape tape;
    head_.logits(block, theta_, z, &tape);
    Matrix p(z.rows(), classes_of(z.cols()));
    block_probabilities(z, p);
    Vector weight(block.rows);
    for (Index i = 0; i < block.rows; ++i) weight[i] = rows.weight_of(first + i);
    add_inputs(block, tape, weight, sums);
    if (places_.size() == 1 && z.cols() > 1) return add_slopes(p, weight, sums);
    // Expected over labels: p_k times what label k would give. One output: both labels give
    // the same up to sign.
    Matrix h(z.rows(), z.cols());
    for (Index k = 0; k < z.cols(); ++k) {
      for (Index i = 0; i < z.rows(); ++i) {
        if (z.cols() == 1) {
          h(i, 0) = std::sqrt(weight[i] * p(i, 0) * p(i, 1));
          continue;
        }
        const double share = std::sqrt(weight[i] * p(i, k));
        h.row(i) = -share * p.row(i);
        h(i, k) += share;
      }
      add_outputs(tape, h, sums);
    }
  }

 private:
  void add_inputs(const FeatureBlock& block, const Tape& tape, const Vector& weight,
                  Vector& sums) const {
    const Place& first = places_[0];
    if (first.full()) {
      Matrix outer = Matrix::Zero(first.inputs(), first.inputs());
      add_weighted_outer(block, {weight.data(), at(weight.size())}, outer);
      Eigen::Map<Matrix>(sums.data() + first.a, outer.rows(), outer.cols()) += outer;
    } else {
      for (Index i = 0; i < block.rows; ++i)
        add_squares(block, i, weight[i], sums.data() + first.a);
    }
    for (std::size_t l = 1; l < places_.size(); ++l) {
      const Matrix& value = tape.value[l - 1];
      if (!places_[l].full()) {
        sums.segment(places_[l].a, value.cols()) +=
            (weight.asDiagonal() * value.cwiseAbs2()).colwise().sum().transpose();
        continue;
      }
      const Matrix scaled = weight.asDiagonal() * value;
      gemm(As::transposed, As::is, value.cols(), value.cols(), value.rows(),
           {scaled.data(), value.cols()}, {value.data(), value.cols()}, 1,
           {sums.data() + places_[l].a, value.cols()});
    }
  }

  // One layer: the labels' sum is diag(p) - p p^T. With 1,000 classes one product takes the
  // place of 1,000.
  void add_slopes(const Matrix& p, const Vector& weight, Vector& sums) const {
    const Index width = p.cols();
    Eigen::Map<Matrix> G(sums.data() + places_[0].g, width, width);
    G.diagonal() += p.transpose() * weight;
    const Matrix scaled = -(weight.asDiagonal() * p);
    gemm(As::transposed, As::is, width, width, p.rows(), {scaled.data(), width},
         {p.data(), width}, 1, {G.data(), width});
  }

  void add_outputs(const Tape& tape, const Matrix& h, Vector& sums) const {
    const std::vector<Matrix> slopes = layer_slopes(head_.widths(), theta_, tape, h);
    for (std::size_t l = 0; l < places_.size(); ++l) {
      const Index width = places_[l].width;
      gemm(As::transposed, As::is, width, width, slopes[l].rows(),
           {slopes[l].data(), width}, {slopes[l].data(), width}, 1,
           {sums.data() + places_[l].g, width});
    }
  }

  const Head& head_;
  const Vector& theta_;
  const std::vector<Place>& places_;
};

// Eigenvectors of a sum whose lower triangle is there, with a number added to each entry.
KroneckerBasis decompose(const double* sums, Index size, double scale, double everywhere) {
  Matrix full = scale * Eigen::Map<const Matrix>(sums, size, size);
  for (Index i = 0; i < size; ++i)
    for (Index j = i + 1; j < size; ++j) full(i, j) = full(j, i);
  if (everywhere > 0) full.array() += everywhere;
  return {Matrix::Identity(size, size), full};
}

class KfacInverse final : public InverseHessian {
 public:
  KfacInverse(GaussNewton product, Kfac kfac, double tolerance)
      : product_(std::move(product)), kfac_(std::move(kfac)), tolerance_(tolerance) {}

  [[nodiscard]] Index dim() const override { return product_.dim(); }
  [[nodiscard]] double damping() const override { return product_.terms().damping; }

  [[nodiscard]] InverseResult apply(const Matrix& b) const override {
    require_size("kfac", "a right-hand side", b.rows(), dim());
    InverseResult result;
    result.x.resize(b.rows(), b.cols());
    for (Index j = 0; j < b.cols(); ++j) result.x.col(j) = kfac_.solve(b.col(j), damping());
    const double residual = worst_residual(product_, result.x, b);
    result.summary = {.converged = residual <= 2 * tolerance_,
                      .residual = residual,
                      .damping = damping(),
                      .rcond = 0,
                      .iterations = 0,
                      .solver = "kfac",
                      .cached = false};
    return result;
  }

 private:
  GaussNewton product_;
  Kfac kfac_;
  double tolerance_;
};

}  // namespace

Kfac::Kfac(const Head& head, const Rows& rows, const Vector& theta, const Terms& terms,
           const Exec& exec)
    : l2_(terms.l2) {
  if (head.linear() && !head.as_linear()->whole()) part_ = *head.as_linear();
  Index total = 0;
  const std::vector<Place> places = places_of(head, total);
  const BlockSums block_sums(head, theta, places);
  const Index blocks = block_count(rows.size());
  const Index used = terms.most_blocks > 0 ? std::min(blocks, terms.most_blocks) : blocks;
  Index counted = 0;
  for (Index i = 0; i < used; ++i)
    counted += std::min(kBlockRows, rows.size() - i * blocks / used * kBlockRows);
  const Vector sums =
      reduce<Sums>(
          used, [&] { return Sums{Vector::Zero(total)}; },
          [&](Sums& state, Index i) {
            const Index b = i * blocks / used;
            Scratch scratch;
            block_sums.add(rows.block(b, scratch), rows, b * kBlockRows, state.values);
          },
          exec)
          .values;
  const double share =
      counted > 0 ? static_cast<double>(rows.size()) / static_cast<double>(counted) : 0;
  for (const Place& place : places) {
    KroneckerBlock& layer = layers_.emplace_back();
    layer.start = place.start;
    const Index inputs = place.inputs();
    const double weight = sums[place.a + place.numbers() - 1];  // of (., 1)(., 1)^T
    const double scale = weight > 0 ? 1 / weight : 0;
    layer.inputs = place.full() ? decompose(sums.data() + place.a, inputs, scale, 0)
                                : KroneckerBasis(Matrix::Ones(inputs, 1),
                                                 scale * sums.segment(place.a, inputs));
    const double gauge = terms.gauge > 0 ? terms.gauge / static_cast<double>(place.width) /
                                               layer.inputs.values.mean()
                                         : 0;
    layer.outputs = decompose(sums.data() + place.g, place.width, share / terms.n, gauge);
  }
}

Vector Kfac::solve(const Vector& b, double damping) const {
  Vector spare;
  const Vector& v = part_ ? part_->expand(b, spare) : b;
  Vector result(v.size());
  for (const KroneckerBlock& layer : layers_) layer.solve(v, l2_, damping, result);
  return part_ ? part_->shrink(std::move(result)) : result;
}

std::unique_ptr<InverseHessian> make_kfac(GaussNewton product, Kfac kfac,
                                          double tolerance) {
  return std::make_unique<KfacInverse>(std::move(product), std::move(kfac), tolerance);
}

}  // namespace fmd::internal
