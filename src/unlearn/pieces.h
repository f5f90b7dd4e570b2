#pragma once

#include <vector>

#include "fmd/model/head.h"
#include "fmd/model/rows.h"
#include "unlearn/delta.h"

// Some rows or pairs that one thread sweeps over together. Part of a sum's definition, as
// blocks are: of a linear head a piece is a block, of a network fewer rows, so that the
// numbers of a layer stay in the second-level cache and small sets still occupy all
// threads.
namespace fmd {

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

// What forward passes over both sides of a piece of pairs leave.
struct PairTape {
  Tape c, cbar;
};

// A piece of pairs. A linear head is swept over phi(c) and delta, a network over both
// sides. Refers to its arguments.
class PairPiece {
 public:
  // deltas: of each block; empty = the piece's is made here.
  PairPiece(const Head& head, const PairSet& pairs, Index piece,
            const std::vector<Delta>& deltas);
  PairPiece(const PairPiece&) = delete;
  PairPiece& operator=(const PairPiece&) = delete;

  [[nodiscard]] Index rows() const { return c_.rows; }
  [[nodiscard]] const FeatureBlock& c() const { return c_; }
  [[nodiscard]] const FeatureBlock& cbar() const { return cbar_; }  // networks only
  [[nodiscard]] const Delta& delta() const { return *delta_; }      // linear heads only

  // z = z(c) and dz = z(c) - z(cbar).
  void logits(const Vector& theta, Matrix& z, Matrix& dz, PairTape& tape) const;
  // The same of J v.
  void jvp(const Vector& theta, const PairTape& tape, const Vector& v, Matrix& u,
           Matrix& du) const;
  // into += J^T h of both sides, given both = h(c) + h(cbar), which is overwritten, and bar
  // = h(cbar).
  void vjp(const Vector& theta, const PairTape& tape, Matrix& both, const Matrix& bar,
           Vector& into) const;

 private:
  const Head& head_;
  Scratch scratch_, scratch_bar_;
  FeatureBlock c_, cbar_;
  Delta own_;
  const Delta* delta_ = nullptr;
};

}  // namespace fmd
