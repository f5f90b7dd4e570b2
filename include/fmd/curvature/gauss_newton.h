#pragma once

#include <memory>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

namespace fmd {

struct GaussNewtonTerms {
  double n = 0;        // rows in the mean; 0 = rows.size()
  double l2 = 0;       // on the weights of every layer
  double damping = 0;  // on the diagonal
  bool exact = false;  // with the second derivatives of the logits
};

// Products with the curvature of F at theta for any head, without forming it:
//
//   Gauss-Newton   (1/n) sum_i w_i J_i^T S_i J_i + l2 + damping,   S = diag(p) - p p^T
//   exact          that + (1/n) sum_i w_i sum_k (p_i - e_y)_k d^2 z_ik
//
// Gauss-Newton's matrix has no negative eigenvalue. For a linear head both are equal.
// Forward passes are kept when they fit into 256 MB, otherwise each product makes them
// again. Cost of a product: 4 n p multiply-adds less the first layer's share, exact 10 n p.
// Same bits for any number of threads. Head and rows must outlive it.
class GaussNewton {
 public:
  // Throws Error(bad_option, bad_shape, bad_data: exact without labels).
  GaussNewton(const Head& head, const Rows& rows, const Vector& theta,
              const GaussNewtonTerms& terms, const Exec& exec);

  [[nodiscard]] Index dim() const { return theta_.size(); }
  [[nodiscard]] Vector apply(const Vector& v) const;
  // The matrix itself, by dim() products.
  [[nodiscard]] Matrix matrix() const;

  [[nodiscard]] const GaussNewtonTerms& terms() const { return terms_; }
  void set_damping(double damping) { terms_.damping = damping; }

 private:
  struct Tile {  // what the forward pass of some rows leaves
    Tape tape;
    Matrix p;
  };
  using Tiles = std::vector<Tile>;
  [[nodiscard]] Tiles tiles_of(const FeatureBlock& block) const;
  void add_block(Index b, const Vector& v, Vector& into) const;

  const Head& head_;
  Rows rows_;
  Vector theta_;
  GaussNewtonTerms terms_;
  Exec exec_;
  std::shared_ptr<const std::vector<Tiles>>
      kept_;  // of each block; null: made again each time
};

}  // namespace fmd
