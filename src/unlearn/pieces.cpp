#include "unlearn/pieces.h"

#include <algorithm>

#include "model/slice.h"

namespace fmd::internal {

FeatureBlock piece_of(const Head& head, const Rows& rows, Index piece, Scratch& scratch) {
  if (head.linear()) return rows.block(piece, scratch);
  const Index first = piece * kNetworkPiece;
  const Index count = std::min(kNetworkPiece, rows.size() - first);
  if (!rows.subset.empty())
    return rows.X->gather(rows.subset.subspan(static_cast<std::size_t>(first),
                                              static_cast<std::size_t>(count)),
                          scratch);
  return slice(rows.X->block(first / kBlockRows, scratch), first % kBlockRows, count);
}

PairPiece::PairPiece(const Head& head, const PairSet& pairs, Index piece,
                     const std::vector<Delta>& deltas, const FeatureBlock* c)
    : head_(head), c_(c != nullptr ? *c : piece_of(head, pairs.c, piece, scratch_)) {
  if (!head.linear()) {
    cbar_ = piece_of(head, pairs.cbar, piece, scratch_bar_);
  } else if (deltas.empty()) {
    own_ = pair_delta(pairs, piece);
    delta_ = &own_;
  } else {
    delta_ = &deltas[static_cast<std::size_t>(piece)];
  }
}

void PairPiece::logits(const Vector& theta, Matrix& z, Matrix& dz, PairTape& tape) const {
  head_.logits(c_, theta, z, &tape.c);
  if (delta_ != nullptr) return delta_logits(*delta_, *head_.as_linear(), theta, dz);
  head_.logits(cbar_, theta, dz, &tape.cbar);
  dz = z - dz;
}

void PairPiece::jvp(const Vector& theta, const PairTape& tape, const Vector& v, Matrix& u,
                    Matrix& du) const {
  head_.jvp(c_, theta, tape.c, v, u);
  if (delta_ != nullptr) return delta_jvp(*delta_, *head_.as_linear(), v, du);
  head_.jvp(cbar_, theta, tape.cbar, v, du);
  du = u - du;
}

void PairPiece::vjp(const Vector& theta, const PairTape& tape, Matrix& both,
                    const Matrix& bar, Vector& into) const {
  if (delta_ != nullptr) {
    head_.vjp(c_, theta, tape.c, both, into);
    return subtract_delta_vjp(*delta_, *head_.as_linear(), bar, into);
  }
  both -= bar;
  head_.vjp(c_, theta, tape.c, both, into);
  head_.vjp(cbar_, theta, tape.cbar, bar, into);
}

}  // namespace fmd::internal
