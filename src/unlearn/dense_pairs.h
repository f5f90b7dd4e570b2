#pragma once

#include <memory>
#include <span>
#include <vector>

#include "unlearn/row_pairs.h"

namespace fmd::internal {

// Dense features: both sides are kept in float32, as they come, and read once in each pass.
class DensePairs final : public RowPairs {
 public:
  // Null where the features are not dense, have offsets or take too much memory.
  [[nodiscard]] static std::unique_ptr<const RowPairs> make(const Vector& theta0,
                                                            const Rows& rows,
                                                            std::span<const PairSet> pairs,
                                                            bool with_anchor,
                                                            const Exec& exec);
  double evaluate(const Vector& theta, double anchor, double lambda, Vector& gradient,
                  Scores& scores) const override;
  [[nodiscard]] Vector product(const Scores& scores, const Vector& v, double anchor,
                               double lambda, bool exact) const override;
  void curvature(const Scores& scores, double anchor, double lambda, Matrix& hold,
                 Matrix& pull) const override;

 private:
  DensePairs(PairsByRow rows, Index inputs, const Exec& exec)
      : exec_(exec), inputs_(inputs), of_(std::move(rows)) {}
  struct Chunk;
  template <typename Body>
  double sum(Vector& into, const Body& body) const;
  void add_curvature(const Scores& scores, Index b, double anchor, double lambda,
                     Vector& sums) const;

  const Exec& exec_;
  Index inputs_;
  PairsByRow of_;
  std::vector<float> x_, bar_;  // rows; p(cbar)'s features, in the order of the places
  Vector theta0_, p0_;          // p0: score of each row at theta0
};

}  // namespace fmd::internal
