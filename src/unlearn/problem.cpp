#include "unlearn/problem.h"

#include "fmd/core/accumulator.h"
#include "unlearn/spans.h"
#include "unlearn/sums.h"

namespace fmd {
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

}  // namespace

SolveProblem::SolveProblem(const Head& head, const Vector& theta0, const Rows& rows,
                           std::span<const PairSet> pairs, const SolveOptions& options,
                           const Exec& exec)
    : head_(head),
      linear_(dynamic_cast<const LinearHead*>(&head)),
      theta0_(theta0),
      rows_(rows),
      pairs_(pairs),
      options_(options),
      exec_(exec),
      deltas_(pairs.size()) {
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
  }
}

// The logits at theta0, by the same pieces as later: where nothing has changed, the
// difference is 0 to the bit.
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

SolveProblem::Point SolveProblem::at(const Vector& theta) const {
  const Vector change = theta - theta0_;
  Point point;
  point.theta = theta;
  point.value = options_.mu / 2 * change.squaredNorm();
  point.gradient = options_.mu * change;
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
          head_.logits(block, change, dz);
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

PairScale SolveProblem::pair_scale(std::size_t set, Index entry) const {
  const double w = pair_weight(set, entry);
  return {.fit = options_.fit / 2 * w, .pull = options_.lambda * classes_factor() * w};
}

// The anchor of the rows from `first` on with logits z, and its slopes.
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

}  // namespace fmd
