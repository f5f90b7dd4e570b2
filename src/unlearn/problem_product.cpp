#include "fmd/core/accumulator.h"
#include "unlearn/problem.h"
#include "unlearn/slope.h"
#include "unlearn/spans.h"
#include "unlearn/sums.h"

namespace fmd {

const PairTape& SolveProblem::tape_of(const Point& point, std::size_t set, Index piece,
                                      const PairPiece& pairs, PairTape& own) const {
  if (keeps_tapes_) return point.pair_tapes[set][static_cast<std::size_t>(piece)];
  Matrix z, dz;
  if (linear_ == nullptr) pairs.logits(point.theta, z, dz, own);
  return own;
}

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
  if (options_.anchor > 0 && !shared_) result += hold_scale * row_product(point, v);
  for (std::size_t s = 0; s < pairs_.size(); ++s)
    result += pair_product(point, v, s, hold_scale, exact);
  for (std::size_t k = 0; k < options_.gaps.size(); ++k) {
    const Vector& g = point.gap_gradient[k];
    result += 2 * options_.gaps[k].gamma * g.dot(v) * g;
  }
  return result;
}

}  // namespace fmd
