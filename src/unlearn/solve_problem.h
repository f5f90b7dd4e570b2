#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fmd/model/linear_head.h"
#include "fmd/unlearn/solve.h"
#include "unlearn/delta.h"
#include "unlearn/layer_inverse.h"
#include "unlearn/pieces.h"
#include "unlearn/row_pairs.h"
#include "unlearn/terms.h"

namespace fmd::internal {

// J of solve.h, prepared for many evaluations. Its curvature has two parts: `hold` is what
// holds theta in place (anchor, fit, mu), `pull` is what pulls it away (consistency, gaps).
// The matrix of the curvature exists for linear heads only; networks have only products
// with it. Refers to its arguments.
class SolveProblem {
 public:
  SolveProblem(const Head& head, const Vector& theta0, const Rows& rows,
               std::span<const PairSet> pairs, const SolveOptions& options,
               const Exec& exec);

  // J, its gradient, and the scores from which its curvature is computed.
  struct Point {
    Vector theta;
    double value = 0;
    Vector gradient;
    Matrix p;                           // rows x outputs; empty without anchor
    std::vector<Matrix> c, difference;  // per set: p(c) and p(c) - p(cbar), pairs x outputs
    std::vector<Vector> gap_gradient;   // of each gap
    RowPairs::Scores by_row;            // in place of p, c and difference
    // Forward passes of a network, per piece; empty where they do not fit into memory.
    std::vector<Tape> row_tapes;
    std::vector<std::vector<PairTape>> pair_tapes;  // per set
  };
  [[nodiscard]] Point at(const Vector& theta) const;

  [[nodiscard]] const Head& head() const { return head_; }
  [[nodiscard]] double mu() const { return options_.mu; }
  [[nodiscard]] bool only_lambda_pulls() const { return options_.gaps.empty(); }

  // The Gauss-Newton matrix; linear heads only.
  struct Curvature {
    Matrix hold, pull;
  };
  [[nodiscard]] Curvature curvature(const Point& point) const;

  // (hold_scale x hold + pull) v without forming the matrices. exact: pull includes the
  // second derivatives of consistency, which Gauss-Newton leaves out. It never includes
  // those of gaps and of a network's layers.
  [[nodiscard]] Vector product(const Point& point, const Vector& v, double hold_scale,
                               bool exact) const;

  // The factors of each layer's block of the two parts. Networks: one random vector of
  // signs is used in place of all outputs of a pair. Linear heads: at most kMostKronecker
  // inputs. Gaps are left out. The anchor is taken
  // on the rows c of the pairs, also where its own rows are others.
  [[nodiscard]] LayerCurvature layers(const Point& point) const;

  // The diagonals of the two parts; linear heads only.
  struct Diagonal {
    Vector hold, pull;
  };
  [[nodiscard]] Diagonal diagonal(const Point& point) const;

 private:
  void prepare_linear();
  void prepare_network();
  void add_rows(Point& point) const;
  void add_pairs(Point& point, std::size_t set) const;
  void add_gaps(Point& point) const;
  double shared_rows(Index first, const Matrix& z, Matrix& slope) const;
  void pair_block(Point& point, std::size_t set, Index piece, double& value,
                  Vector& gradient) const;
  [[nodiscard]] Vector row_product(const Point& point, const Vector& v) const;
  [[nodiscard]] Matrix pair_curvature(const Point& point, double fit, double lambda) const;
  [[nodiscard]] Vector pair_product(const Point& point, const Vector& v, std::size_t set,
                                    double hold_scale, bool exact) const;
  struct LayerPiece;
  [[nodiscard]] LayerPiece layer_piece(const Point& point, std::size_t set, Index piece,
                                       Index rows) const;
  void add_linear_layer(const Point& point, std::size_t set, Index b,
                        const LayerCurvature::Layer& layer, Vector& sums) const;
  void add_layers(const Point& point, std::size_t set, Index piece,
                  const std::vector<LayerCurvature::Layer>& layers, Vector& sums) const;
  // The forward passes of a piece: those that were kept, otherwise new ones in `own`.
  const PairTape& tape_of(const Point& point, std::size_t set, Index piece,
                          const PairPiece& pairs, PairTape& own) const;
  [[nodiscard]] const Delta& delta(std::size_t set, Index b, Delta& spare) const;
  [[nodiscard]] PairPiece pair_piece(std::size_t set, Index piece) const {
    const auto& kept = kept_c_[set];
    return {head_, pairs_[set], piece, deltas_[set],
            kept.empty() ? nullptr : &kept[static_cast<std::size_t>(piece)].block};
  }
  // weight / (sets x total weight): sums over pairs become means.
  [[nodiscard]] double pair_weight(std::size_t set, Index entry) const;
  [[nodiscard]] PairScale pair_scale(std::size_t set, Index entry) const;
  // Factor on the sum of squared differences: one output counts as two classes.
  [[nodiscard]] double classes_factor() const { return head_.outputs() == 1 ? 2 : 1; }

  const Head& head_;
  const LinearHead* linear_;  // the same head, or null where it is a network
  const Vector& theta0_;
  const Rows& rows_;
  std::span<const PairSet> pairs_;
  const SolveOptions& options_;
  const Exec& exec_;
  // Rows and pairs together, where they can be taken so; otherwise null.
  std::unique_ptr<const RowPairs> by_row_;
  double row_weight_ = 0;  // total
  Matrix p_old_;           // rows x classes
  Matrix z_old_;           // rows x outputs; networks only
  bool keeps_tapes_ = false;
  // A network whose rows are the c side of its only set: one pass serves both.
  bool shared_ = false;
  std::vector<double> pair_total_;  // per set
  // Per set and block; empty where they are made again for each pass.
  std::vector<std::vector<Delta>> deltas_;
  // Features of the first sides, where they would be gathered again for each pass.
  struct KeptBlock {
    Scratch scratch;
    FeatureBlock block;  // points into scratch
  };
  std::vector<std::vector<KeptBlock>> kept_c_;
};

}  // namespace fmd::internal
