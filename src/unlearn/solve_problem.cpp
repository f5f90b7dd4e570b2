#include "unlearn/solve_problem.h"

#include <algorithm>
#include <cmath>

#include "core/gemm.h"
#include "core/sums.h"
#include "core/value_and_vector.h"
#include "fmd/core/accumulator.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/hessian.h"
#include "fmd/curvature/weighted_outer.h"
#include "fmd/model/passes.h"
#include "model/layer_slopes.h"
#include "unlearn/pair_outer.h"
#include "unlearn/pair_slopes.h"
#include "unlearn/spans.h"

namespace fmd::internal {
namespace {

// Differences of pairs and forward passes are kept between passes up to this many numbers.
constexpr Index kKeep = Index{1} << 25;

// Numbers that a forward pass of a row leaves.
Index tape_numbers(const Head& head) {
  const std::vector<Index> widths = head.widths();
  Index count = 0;
  for (std::size_t l = 1; l + 1 < widths.size(); ++l) count += 2 * widths[l] + 1;
  return count;
}

bool same_entries(const Rows& a, const Rows& b) {
  if (a.X != b.X || a.size() != b.size()) return false;
  for (Index i = 0; i < a.size(); ++i)
    if (a.row(i) != b.row(i)) return false;
  return true;
}

// The class matrices of one pair (see PairOuterSum). With a = D phi + S_cbar delta, the
// derivative of p(c) - p(cbar), consistency adds a^T a; fit adds S phi phi^T on both sides.
class PairMatrices {
 public:
  Matrix phi_phi, phi_delta, delta_delta;  // delta_phi = phi_delta^T

  void set(std::span<const double> p, std::span<const double> dp, double fit, double pull) {
    const auto n = static_cast<Index>(p.size());
    slope_difference(p, dp, D_);
    pbar_.resize(n);
    for (Index k = 0; k < n; ++k)
      pbar_[k] = p[static_cast<std::size_t>(k)] - dp[static_cast<std::size_t>(k)];
    slope(all_of(pbar_), S_cbar_);
    phi_phi.noalias() = pull * D_ * D_;
    phi_delta.noalias() = pull * D_ * S_cbar_;
    delta_delta.noalias() = pull * S_cbar_ * S_cbar_;
    if (fit == 0) return;
    phi_phi += fit * (2 * S_cbar_ + D_);
    phi_delta -= fit * S_cbar_;
    delta_delta += fit * S_cbar_;
  }

 private:
  Matrix D_, S_cbar_;
  Vector pbar_;
};

// One output: the same without matrices.
void set_weights(double p, double dp, double fit, double pull, Index i,
                 PairWeights& weights) {
  const double pbar = p - dp, slope = pbar * (1 - pbar), change = dp * (1 - p - pbar);
  weights.phi_phi(i, 0) = pull * change * change + fit * (2 * slope + change);
  weights.phi_delta(i, 0) = pull * change * slope - fit * slope;
  weights.delta_phi(i, 0) = weights.phi_delta(i, 0);
  weights.delta_delta(i, 0) = pull * slope * slope + fit * slope;
}

void set_weights(const PairMatrices& m, Index i, PairWeights& weights) {
  for (Index k = 1, pair = 0; k < m.phi_phi.rows(); ++k)
    for (Index l = 0; l < k; ++l, ++pair) {
      weights.phi_phi(i, pair) = m.phi_phi(k, l);
      weights.phi_delta(i, pair) = m.phi_delta(k, l);
      weights.delta_phi(i, pair) = m.phi_delta(l, k);
      weights.delta_delta(i, pair) = m.delta_delta(k, l);
    }
}

// The inputs of a dense layer: the rows of the block, with a 1 at the end of each.
Matrix with_ones(const FeatureBlock& block) {
  Matrix X = Matrix::Zero(block.rows, block.cols + 1);
  X.col(block.cols).setOnes();
  for (Index i = 0; i < block.rows; ++i)
    for_each_entry(block, i, [&](Index j, double x) { X(i, j) = x; });
  return X;
}

// A root of S: the mean of root root^T over random signs is S.
void slope_root(const Vector& p, const Vector& sign, Eigen::Ref<Vector> root) {
  const Vector r = p.cwiseMax(0.0).cwiseSqrt().cwiseProduct(sign);
  if (p.size() == 1)
    root[0] = r[0] * std::sqrt(std::max(0.0, 1 - p[0]));
  else
    root = r - p * r.sum();
}

// into += sum_i w_i S_i, S = diag(p) - p p^T of each row p.
void add_slopes(const Matrix& p, const Vector& w, Eigen::Map<Matrix> into) {
  into.diagonal() += p.transpose() * w;
  into -= p.transpose() * w.asDiagonal() * p;
}

// into += sum_i w_i S_i S_i.
void add_squared_slopes(const Matrix& p, const Vector& w, Eigen::Map<Matrix> into) {
  const Matrix squares = p.cwiseAbs2();
  const Matrix cross = squares.transpose() * w.asDiagonal() * p;
  const Vector sizes = w.cwiseProduct(squares.rowwise().sum());
  into.diagonal() += squares.transpose() * w;
  into -= cross + cross.transpose();
  into += p.transpose() * sizes.asDiagonal() * p;
}

}  // namespace

// ---- What is kept between evaluations

SolveProblem::SolveProblem(const Head& head, const Vector& theta0, const Rows& rows,
                           std::span<const PairSet> pairs, const SolveOptions& options,
                           const Exec& exec)
    : head_(head),
      linear_(head.as_linear()),
      theta0_(theta0),
      rows_(rows),
      pairs_(pairs),
      options_(options),
      exec_(exec),
      deltas_(pairs.size()),
      kept_c_(pairs.size()) {
  require_loss(head, "solve");
  if (linear_ != nullptr && options.fit == 0 && head.parameters() <= options.max_dense)
    by_row_ = RowPairs::make(*linear_, theta0, rows, pairs, options.anchor > 0, exec);
  if (by_row_ != nullptr) return;
  if (options.anchor > 0) {
    for (Index i = 0; i < rows.size(); ++i) row_weight_ += rows.weight_of(i);
    p_old_ = all_probabilities(head, rows, theta0, exec);
  }
  for (const PairSet& set : pairs) pair_total_.push_back(set.total_weight());
  if (linear_ == nullptr)
    prepare_network();
  else
    prepare_linear();
}

void SolveProblem::prepare_linear() {
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    const Index blocks = block_count(pairs_[s].size());
    const Delta first = pair_delta(pairs_[s], 0);
    if (!first.sparse && pairs_[s].size() * first.cols > kKeep) continue;
    deltas_[s].resize(static_cast<std::size_t>(blocks));
    exec_.for_each(blocks, [&](Index b) {
      deltas_[s][static_cast<std::size_t>(b)] = pair_delta(pairs_[s], b);
    });
    if (pairs_[s].c.subset.empty()) continue;  // nothing is gathered
    kept_c_[s].resize(static_cast<std::size_t>(blocks));
    exec_.for_each(blocks, [&](Index b) {
      KeptBlock& kept = kept_c_[s][static_cast<std::size_t>(b)];
      kept.block = pairs_[s].c.block(b, kept.scratch);
    });
  }
}

// The logits at theta0 are computed by the same pieces as later ones: where nothing has
// changed, the difference is 0 to the bit.
void SolveProblem::prepare_network() {
  Index sides = 0;
  for (const PairSet& set : pairs_) sides += 2 * set.size();
  if (options_.anchor > 0) {
    shared_ = pairs_.size() == 1 && same_entries(rows_, pairs_[0].c);
    if (!shared_) sides += rows_.size();
    z_old_.resize(rows_.size(), head_.outputs());
    exec_.for_each(piece_count(head_, rows_.size()), [&](Index piece) {
      Scratch scratch;
      Matrix z;
      head_.logits(piece_of(head_, rows_, piece, scratch), theta0_, z);
      z_old_.middleRows(piece * kNetworkPiece, z.rows()) = z;
    });
  }
  keeps_tapes_ = sides <= kKeep / tape_numbers(head_);
}

const Delta& SolveProblem::delta(std::size_t set, Index b, Delta& spare) const {
  if (!deltas_[set].empty()) return deltas_[set][static_cast<std::size_t>(b)];
  return spare = pair_delta(pairs_[set], b);
}

double SolveProblem::pair_weight(std::size_t set, Index entry) const {
  return static_cast<double>(pairs_[set].weight[static_cast<std::size_t>(entry)]) /
         (static_cast<double>(pairs_.size()) * pair_total_[set]);
}

PairScale SolveProblem::pair_scale(std::size_t set, Index entry) const {
  const double w = pair_weight(set, entry);
  return {.fit = options_.fit / 2 * w, .pull = options_.lambda * classes_factor() * w};
}

const PairTape& SolveProblem::tape_of(const Point& point, std::size_t set, Index piece,
                                      const PairPiece& pairs, PairTape& own) const {
  if (keeps_tapes_) return point.pair_tapes[set][static_cast<std::size_t>(piece)];
  Matrix z, dz;
  if (linear_ == nullptr) pairs.logits(point.theta, z, dz, own);
  return own;
}

// ---- J and its gradient

SolveProblem::Point SolveProblem::at(const Vector& theta) const {
  const Vector change = theta - theta0_;
  Point point;
  point.theta = theta;
  point.value = options_.mu / 2 * change.squaredNorm();
  point.gradient = options_.mu * change;
  if (by_row_ != nullptr) {
    point.value += by_row_->evaluate(theta, options_.anchor, options_.lambda,
                                     point.gradient, point.by_row);
    add_gaps(point);
    return point;
  }
  if (options_.anchor > 0 && !shared_) add_rows(point);
  for (std::size_t s = 0; s < pairs_.size(); ++s) add_pairs(point, s);
  add_gaps(point);
  return point;
}

void SolveProblem::add_rows(Point& point) const {
  const Index outputs = head_.outputs();
  const Index pieces = piece_count(head_, rows_.size());
  point.p.resize(rows_.size(), outputs);
  if (keeps_tapes_) point.row_tapes.resize(static_cast<std::size_t>(pieces));
  const Vector change = point.theta - theta0_;
  const auto sum = reduce<ValueAndVector>(
      pieces, [&] { return empty_sum(head_.parameters()); },
      [&](ValueAndVector& state, Index piece) {
        Scratch scratch;
        const FeatureBlock block = piece_of(head_, rows_, piece, scratch);
        const Index first = piece * piece_rows(head_);
        Matrix dz;
        Tape own;
        Tape& tape = keeps_tapes_ ? point.row_tapes[static_cast<std::size_t>(piece)] : own;
        if (linear_ != nullptr) {
          head_.jvp(block, point.theta, tape, change, dz);
        } else {
          head_.logits(block, point.theta, dz, &tape);
          dz -= z_old_.middleRows(first, dz.rows());
        }
        AnchorTerm term(outputs);
        for (Index i = 0; i < block.rows; ++i) {
          const double w = options_.anchor * rows_.weight_of(first + i) / row_weight_;
          state.value +=
              term(row_of(p_old_, first + i), w, row_of(dz, i), row_of(point.p, first + i));
        }
        head_.vjp(block, point.theta, tape, dz, state.vector);
      },
      exec_);
  point.value += sum.value;
  point.gradient += sum.vector;
}

void SolveProblem::add_pairs(Point& point, std::size_t set) const {
  const PairSet& pairs = pairs_[set];
  const Index pieces = piece_count(head_, pairs.size());
  point.c.emplace_back(pairs.size(), head_.outputs());
  point.difference.emplace_back(pairs.size(), head_.outputs());
  point.pair_tapes.emplace_back(keeps_tapes_ ? static_cast<std::size_t>(pieces) : 0);
  const auto sum = reduce<ValueAndVector>(
      pieces, [&] { return empty_sum(head_.parameters()); },
      [&](ValueAndVector& state, Index piece) {
        pair_block(point, set, piece, state.value, state.vector);
      },
      exec_);
  point.value += sum.value;
  point.gradient += sum.vector;
}

// The anchor of the rows from `first` on, whose logits are z, and its slopes.
double SolveProblem::shared_rows(Index first, const Matrix& z, Matrix& slope) const {
  slope = z - z_old_.middleRows(first, z.rows());
  AnchorTerm term(head_.outputs());
  Vector p(head_.outputs());
  double value = 0;
  for (Index i = 0; i < z.rows(); ++i)
    value += term(row_of(p_old_, first + i),
                  options_.anchor * rows_.weight_of(first + i) / row_weight_,
                  row_of(slope, i), all_of(p));
  return value;
}

void SolveProblem::pair_block(Point& point, std::size_t set, Index piece, double& value,
                              Vector& gradient) const {
  const PairPiece pairs = pair_piece(set, piece);
  PairTape own;
  PairTape& tape =
      keeps_tapes_ ? point.pair_tapes[set][static_cast<std::size_t>(piece)] : own;
  Matrix z, dz;
  pairs.logits(point.theta, z, dz, tape);
  Matrix anchor;
  if (shared_) value += shared_rows(piece * piece_rows(head_), z, anchor);
  PairTerm term(head_.outputs());
  for (Index i = 0; i < pairs.rows(); ++i) {
    const Index entry = piece * piece_rows(head_) + i;
    value += term(pair_scale(set, entry), pairs_[set].c.label(entry), row_of(z, i),
                  row_of(dz, i), row_of(point.c[set], entry),
                  row_of(point.difference[set], entry));
  }
  if (shared_) z += anchor;
  pairs.vjp(point.theta, tape, z, dz, gradient);
}

void SolveProblem::add_gaps(Point& point) const {
  for (const GapPenalty& gap : options_.gaps) {
    const auto value =
        evaluate(*gap.measure, {.pairs = nullptr, .rows = rows_, .group = gap.group}, head_,
                 point.theta, true, exec_);
    point.value += gap.gamma * value.value * value.value;
    point.gradient += 2 * gap.gamma * value.value * value.gradient;
    point.gap_gradient.push_back(value.gradient);
  }
}

// ---- Products with the curvature

Vector SolveProblem::pair_product(const Point& point, const Vector& v, std::size_t set,
                                  double hold_scale, bool exact) const {
  const auto add = [&](ValueAndVector& state, Index piece) {
    const PairPiece pairs = pair_piece(set, piece);
    Matrix u, du;
    PairTape own;
    const PairTape& tape = tape_of(point, set, piece, pairs, own);
    pairs.jvp(point.theta, tape, v, u, du);
    PairTerm term(head_.outputs());
    Vector held(head_.outputs());
    for (Index i = 0; i < pairs.rows(); ++i) {
      const Index entry = piece * piece_rows(head_) + i;
      if (shared_) {
        apply_slope(row_of(point.c[set], entry), row_of(u, i), all_of(held));
        held *= hold_scale * options_.anchor * rows_.weight_of(entry) / row_weight_;
      }
      PairScale scale = pair_scale(set, entry);
      scale.fit *= hold_scale;
      scale.pull *= 2;
      term.curvature(scale, exact, row_of(point.c[set], entry),
                     row_of(point.difference[set], entry), row_of(u, i), row_of(du, i));
      if (shared_) u.row(i) += held.transpose();
    }
    pairs.vjp(point.theta, tape, u, du, state.vector);
  };
  return reduce<ValueAndVector>(
             piece_count(head_, pairs_[set].size()),
             [&] { return empty_sum(head_.parameters()); }, add, exec_)
      .vector;
}

Vector SolveProblem::row_product(const Point& point, const Vector& v) const {
  const auto add = [&](ValueAndVector& state, Index piece) {
    Scratch scratch;
    const FeatureBlock block = piece_of(head_, rows_, piece, scratch);
    Matrix u;
    Tape own;
    if (linear_ == nullptr && !keeps_tapes_) head_.logits(block, point.theta, u, &own);
    const Tape& tape =
        keeps_tapes_ ? point.row_tapes[static_cast<std::size_t>(piece)] : own;
    head_.jvp(block, point.theta, tape, v, u);
    Vector r(u.cols());
    for (Index i = 0; i < block.rows; ++i) {
      const Index entry = piece * piece_rows(head_) + i;
      apply_slope(row_of(point.p, entry), row_of(u, i), all_of(r));
      u.row(i) = options_.anchor * rows_.weight_of(entry) / row_weight_ * r.transpose();
    }
    head_.vjp(block, point.theta, tape, u, state.vector);
  };
  return reduce<ValueAndVector>(
             piece_count(head_, rows_.size()),
             [&] { return empty_sum(head_.parameters()); }, add, exec_)
      .vector;
}

Vector SolveProblem::product(const Point& point, const Vector& v, double hold_scale,
                             bool exact) const {
  Vector result = hold_scale * options_.mu * v;
  if (by_row_ != nullptr) {
    result += by_row_->product(point.by_row, v, hold_scale * options_.anchor,
                               options_.lambda, exact);
  } else {
    if (options_.anchor > 0 && !shared_) result += hold_scale * row_product(point, v);
    for (std::size_t s = 0; s < pairs_.size(); ++s)
      result += pair_product(point, v, s, hold_scale, exact);
  }
  for (std::size_t k = 0; k < options_.gaps.size(); ++k) {
    const Vector& g = point.gap_gradient[k];
    result += 2 * options_.gaps[k].gamma * g.dot(v) * g;
  }
  return result;
}

// ---- The Gauss-Newton matrix

Matrix SolveProblem::pair_curvature(const Point& point, double fit, double lambda) const {
  const Index outputs = head_.outputs(), pairs = class_pairs(outputs);
  const Index stride = head_.inputs() + 1;
  Matrix total = Matrix::Zero(outputs * stride, outputs * stride);
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    const auto add = [&](PairOuterSum& state, Index b) {
      const PairPiece piece = pair_piece(s, b);
      const FeatureBlock& block = piece.c();
      const Delta& d = piece.delta();
      PairMatrices matrices;
      PairWeights weights;
      for (Index first = 0; first < block.rows; first += kPairChunk) {
        const Index rows = std::min(kPairChunk, block.rows - first);
        for (Matrix* m : {&weights.phi_phi, &weights.phi_delta, &weights.delta_phi,
                          &weights.delta_delta})
          m->resize(rows, pairs);
        for (Index i = 0; i < rows; ++i) {
          const Index entry = b * kBlockRows + first + i;
          const auto p = row_of(point.c[s], entry), dp = row_of(point.difference[s], entry);
          const double w = pair_weight(s, entry);
          const double pull = 2 * lambda * classes_factor() * w;
          if (outputs == 1) {
            set_weights(p[0], dp[0], fit / 2 * w, pull, i, weights);
          } else {
            matrices.set(p, dp, fit / 2 * w, pull);
            set_weights(matrices, i, weights);
          }
        }
        state.add(block, d, first, weights);
      }
    };
    total += reduce<PairOuterSum>(
                 block_count(pairs_[s].size()),
                 [&] { return PairOuterSum(head_.inputs(), outputs); }, add, exec_)
                 .matrix();
  }
  return linear_->shrink_both(std::move(total));
}

SolveProblem::Curvature SolveProblem::curvature(const Point& point) const {
  const Index n = head_.parameters();
  Curvature result;
  if (by_row_ != nullptr) {
    by_row_->curvature(point.by_row, options_.anchor, options_.lambda, result.hold,
                       result.pull);
  } else {
    result.hold.setZero(n, n);
    if (options_.anchor > 0)
      result.hold = options_.anchor *
                    hessian(*linear_, rows_, point.theta,
                            {.l2 = 0, .rows_in_mean = row_weight_, .gauge = false}, exec_);
    if (options_.fit > 0) result.hold += pair_curvature(point, options_.fit, 0);
    result.pull = options_.lambda > 0 ? pair_curvature(point, 0, options_.lambda)
                                      : Matrix::Zero(n, n);
  }
  result.hold.diagonal().array() += options_.mu;
  for (std::size_t k = 0; k < options_.gaps.size(); ++k) {
    const Vector& g = point.gap_gradient[k];
    result.pull.noalias() += 2 * options_.gaps[k].gamma * g * g.transpose();
  }
  return result;
}

// ---- The diagonal of the Gauss-Newton matrix

// Class k, feature j of a pair's Gauss-Newton matrix: |column k of (D phi_j + S_cbar
// delta_j)|^2 for consistency, slopes times squared features on both sides for fit. The two
// parts are summed one after the other in a vector of twice the parameters.
SolveProblem::Diagonal SolveProblem::diagonal(const Point& point) const {
  // Of a whole head's parameters.
  if (by_row_ != nullptr) {  // which has the matrix, too
    const Curvature matrix = curvature(point);
    return {.hold = matrix.hold.diagonal(), .pull = matrix.pull.diagonal()};
  }
  const Index outputs = head_.outputs(), stride = head_.inputs() + 1, n = outputs * stride;
  Vector total = Vector::Zero(2 * n);
  const auto make = [&] { return empty_sum(2 * n); };
  if (options_.anchor > 0) {
    const auto add = [&](ValueAndVector& state, Index b) {
      Scratch scratch;
      const FeatureBlock block = rows_.block(b, scratch);
      for (Index i = 0; i < block.rows; ++i) {
        const Index entry = b * kBlockRows + i;
        const double w = options_.anchor * rows_.weight_of(entry) / row_weight_;
        for (Index k = 0; k < outputs; ++k) {
          const double p = point.p(entry, k), s = w * p * (1 - p);
          double* into = state.vector.data() + k * stride;
          for_each_entry(block, i, [&](Index j, double x) { into[j] += s * x * x; });
          into[stride - 1] += s;
        }
      }
    };
    total += reduce<ValueAndVector>(block_count(rows_.size()), make, add, exec_).vector;
  }
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    const auto add = [&](ValueAndVector& state, Index b) {
      Scratch scratch;
      Delta spare;
      const FeatureBlock block = pairs_[s].c.block(b, scratch);
      const Delta& d = delta(s, b, spare);
      Matrix D, S_cbar;
      Vector pbar(outputs), changed = Vector::Zero(stride);
      for (Index i = 0; i < block.rows; ++i) {
        const Index entry = b * kBlockRows + i;
        slope_difference(row_of(point.c[s], entry), row_of(point.difference[s], entry), D);
        pbar = (point.c[s].row(entry) - point.difference[s].row(entry)).transpose();
        slope(all_of(pbar), S_cbar);
        d.for_each(i, [&](Index j, double x) { changed[j] = x; });
        const double w = pair_weight(s, entry), fit = options_.fit / 2 * w;
        const double pull = 2 * options_.lambda * classes_factor() * w;
        for (Index k = 0; k < outputs; ++k) {
          const double dd = D.col(k).squaredNorm(), ss = S_cbar.col(k).squaredNorm();
          const double ds = D.col(k).dot(S_cbar.col(k)), s_cbar = S_cbar(k, k),
                       sc = s_cbar + D(k, k);
          double* hold = state.vector.data() + k * stride;
          double* gap = hold + n;
          // Of phi and delta together; then of delta alone where phi is 0.
          const auto at_phi = [&](Index j, double x) {
            const double y = changed[j], bar = x - y;
            hold[j] += fit * (sc * x * x + s_cbar * bar * bar - s_cbar * y * y);
            gap[j] += pull * (dd * x * x + 2 * ds * x * y);
          };
          for_each_entry(block, i, at_phi);
          at_phi(stride - 1, 1);
          d.for_each(i, [&](Index j, double y) {
            hold[j] += fit * s_cbar * y * y;
            gap[j] += pull * ss * y * y;
          });
        }
        d.for_each(i, [&](Index j, double) { changed[j] = 0; });
      }
    };
    total += reduce<ValueAndVector>(block_count(pairs_[s].size()), make, add, exec_).vector;
  }
  Diagonal result{.hold = linear_->shrink(total.head(n)),
                  .pull = linear_->shrink(total.tail(n))};
  result.hold.array() += options_.mu;
  for (std::size_t k = 0; k < options_.gaps.size(); ++k)
    result.pull += 2 * options_.gaps[k].gamma * point.gap_gradient[k].cwiseAbs2();
  return result;
}

// ---- The blocks of layers

// Slopes of one piece of pairs by the logits, times the root of their weights.
struct SolveProblem::LayerPiece {
  Matrix hold, hold_bar;  // of the loss, or the divergence, on c and on cbar
  Matrix pull, pull_bar;  // of p(c) - p(cbar)
};

SolveProblem::LayerPiece SolveProblem::layer_piece(const Point& point, std::size_t set,
                                                   Index piece, Index rows) const {
  const Index outputs = head_.outputs();
  LayerPiece made;
  for (Matrix* part : {&made.hold, &made.hold_bar, &made.pull, &made.pull_bar})
    part->resize(rows, outputs);
  Rng rng(set, "signs of the layers", static_cast<std::uint64_t>(piece));
  Vector sign(outputs), p(outputs), bar(outputs), root(outputs);
  for (Index i = 0; i < rows; ++i) {
    const Index entry = piece * piece_rows(head_) + i;
    for (Index k = 0; k < outputs; ++k) sign[k] = rng.below(2) == 0 ? -1 : 1;
    p = point.c[set].row(entry).transpose();
    bar = p - point.difference[set].row(entry).transpose();
    const PairScale scale = pair_scale(set, entry);
    const double anchor = options_.anchor * pair_weight(set, entry);
    slope_root(p, sign, root);
    made.hold.row(i) = std::sqrt(anchor + scale.fit) * root.transpose();
    slope_root(bar, sign, root);
    made.hold_bar.row(i) = std::sqrt(scale.fit) * root.transpose();
    const double pull = std::sqrt(2 * scale.pull);
    apply_slope(all_of(p), all_of(sign), all_of(root));
    made.pull.row(i) = pull * root.transpose();
    apply_slope(all_of(bar), all_of(sign), all_of(root));
    made.pull_bar.row(i) = pull * root.transpose();
  }
  return made;
}

void SolveProblem::add_layers(const Point& point, std::size_t set, Index piece,
                              const std::vector<LayerCurvature::Layer>& layers,
                              Vector& sums) const {
  const PairPiece pairs = pair_piece(set, piece);
  PairTape own;
  const PairTape& tape = tape_of(point, set, piece, pairs, own);
  LayerPiece h = layer_piece(point, set, piece, pairs.rows());
  Vector weight(pairs.rows());
  for (Index i = 0; i < pairs.rows(); ++i)
    weight[i] = std::sqrt(pair_weight(set, piece * piece_rows(head_) + i));
  const std::vector<Index> widths = head_.widths();
  const auto back = [&](const Tape& side, Matrix& slopes) {
    return layer_slopes(widths, point.theta, side, std::move(slopes));
  };
  const auto hold = back(tape.c, h.hold);
  std::vector<Matrix> pull, pull_bar, hold_bar;
  if (options_.fit > 0) hold_bar = back(tape.cbar, h.hold_bar);
  if (options_.lambda > 0) {
    pull = back(tape.c, h.pull);
    pull_bar = back(tape.cbar, h.pull_bar);
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerCurvature::Layer& layer = layers[l];
    const Matrix a =
        weight.asDiagonal() * (l == 0 ? with_ones(pairs.c()) : tape.c.value[l - 1]);
    layer.inputs.add(a, sums);
    layer.hold.add(hold[l], sums);
    if (options_.fit > 0) layer.hold.add(hold_bar[l], sums);
    if (options_.lambda == 0) continue;
    const Matrix bar =
        weight.asDiagonal() * (l == 0 ? with_ones(pairs.cbar()) : tape.cbar.value[l - 1]);
    layer.input_change.add(a - bar, sums);
    layer.slope.add((pull[l] + pull_bar[l]) / 2, sums);
    layer.slope_change.add(pull[l] - pull_bar[l], sums);
  }
}

// One layer without hidden ones below: its factors are sums over all outputs, nothing is
// drawn. The change of slopes within a pair is left out: it vanishes with the gaps.
void SolveProblem::add_linear_layer(const Point& point, std::size_t set, Index b,
                                    const LayerCurvature::Layer& layer,
                                    Vector& sums) const {
  Scratch scratch;
  Delta spare;
  const FeatureBlock block = pairs_[set].c.block(b, scratch);
  const Delta& d = delta(set, b, spare);
  const Index stride = layer.inputs.size, first = b * kBlockRows;
  const auto matrix = [&](const Gram& gram) {
    return Eigen::Map<Matrix>(sums.data() + gram.start, gram.size, gram.size);
  };
  Vector weight(block.rows), fit(block.rows), pull(block.rows);
  for (Index i = 0; i < block.rows; ++i) {
    const PairScale scale = pair_scale(set, first + i);
    weight[i] = pair_weight(set, first + i);
    fit[i] = scale.fit;
    pull[i] = scale.pull;  // half of the curvature for each side
  }
  Matrix p = point.c[set].middleRows(first, block.rows);
  add_slopes(p, options_.anchor * weight + fit, matrix(layer.hold));
  add_squared_slopes(p, pull, matrix(layer.slope));
  p -= point.difference[set].middleRows(first, block.rows);
  if (options_.fit > 0) add_slopes(p, fit, matrix(layer.hold));
  add_squared_slopes(p, pull, matrix(layer.slope));
  Matrix outer = Matrix::Zero(stride, stride);
  add_weighted_outer(block, {weight.data(), static_cast<std::size_t>(weight.size())},
                     outer);
  matrix(layer.inputs) += Matrix(outer.selfadjointView<Eigen::Lower>());
  double* change = sums.data() + layer.input_change.start;
  if (!d.sparse) {
    const Matrix scaled = weight.asDiagonal() * d.dense;
    gemm(As::transposed, As::is, d.cols, d.cols, d.rows, {scaled.data(), d.cols},
         {d.dense.data(), d.cols}, 1, {change, stride});
    return;
  }
  for (Index i = 0; i < block.rows; ++i)
    d.for_each(i, [&](Index j, double x) {
      d.for_each(i,
                 [&](Index k, double y) { change[j * stride + k] += weight[i] * x * y; });
    });
}

LayerCurvature SolveProblem::layers(const Point& point) const {
  if (linear_ != nullptr) {
    LayerCurvature total(head_.widths(), kMostKronecker + 1);
    for (std::size_t s = 0; s < pairs_.size(); ++s)
      total.sums += reduce<Sums>(
                        block_count(pairs_[s].size()),
                        [&] { return Sums{Vector::Zero(total.sums.size())}; },
                        [&](Sums& state, Index b) {
                          add_linear_layer(point, s, b, total.layers[0], state.values);
                        },
                        exec_)
                        .values;
    return total;
  }
  LayerCurvature total(head_.widths());
  for (std::size_t s = 0; s < pairs_.size(); ++s)
    total.sums += reduce<Sums>(
                      piece_count(head_, pairs_[s].size()),
                      [&] { return Sums{Vector::Zero(total.sums.size())}; },
                      [&](Sums& state, Index piece) {
                        add_layers(point, s, piece, total.layers, state.values);
                      },
                      exec_)
                      .values;
  return total;
}

}  // namespace fmd::internal
