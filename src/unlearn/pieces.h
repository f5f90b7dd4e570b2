#pragma once

#include <vector>

#include "fmd/model/head.h"
#include "fmd/model/rows.h"
#include "unlearn/delta.h"

// A piece is some rows or pairs that one thread handles together. Pieces are part of a
// sum's definition, like blocks. For a linear head a piece is a block. For a network it has
// fewer rows, so that the numbers of a layer stay in the second-level cache and small sets
// still occupy all threads.
namespace fmd::internal {

inline constexpr Index kNetworkPiece = 512;  // divides a block
[[nodiscard]] inline Index piece_rows(const Head& head) {
  return head.linear() ? kBlockRows : kNetworkPiece;
}
[[nodiscard]] inline Index piece_count(const Head& head, Index rows) {
  return (rows + piece_rows(head) - 1) / piece_rows(head);
}

// The features of a piece's entries.
[[nodiscard]] FeatureBlock piece_of(const Head& head, const Rows& rows, Index piece,
                                    Scratch& scratch);

// What the forward passes over both sides of a piece of pairs leave.
struct PairTape {
  Tape c, cbar;
};

// A piece of pairs. A linear head works on phi(c) and delta, which keeps the digits of
// small gaps. A network works on both sides. Refers to its arguments.
class PairPiece {
 public:
  // deltas: one per block; empty = the delta of this piece is made here.
  // c: the features of its first sides; null = they are read here.
  PairPiece(const Head& head, const PairSet& pairs, Index piece,
            const std::vector<Delta>& deltas, const FeatureBlock* c = nullptr);
  PairPiece(const PairPiece&) = delete;
  PairPiece& operator=(const PairPiece&) = delete;

  [[nodiscard]] Index rows() const { return c_.rows; }
  [[nodiscard]] const FeatureBlock& c() const { return c_; }
  [[nodiscard]] const FeatureBlock& cbar() const { return cbar_; }  // networks only
  [[nodiscard]] const Delta& delta() const { return *delta_; }      // linear heads only

  // z = z(c) and dz = z(c) - z(cbar).
  void logits(const Vector& theta, Matrix& z, Matrix& dz, PairTape& tape) const;
  // The same for J v.
  void jvp(const Vector& theta, const PairTape& tape, const Vector& v, Matrix& u,
           Matrix& du) const;
  // into += J^T h of both sides. both = h(c) + h(cbar) is overwritten; bar = h(cbar).
  void vjp(const Vector& theta, const PairTape& tape, Matrix& both, const Matrix& bar,
           Vector& into) const;

 private:
  const Head& head_;
  Scratch scratch_, scratch_bar_;
  FeatureBlock c_, cbar_;
  Delta own_;
  const Delta* delta_ = nullptr;
};

}  // namespace fmd::internal
