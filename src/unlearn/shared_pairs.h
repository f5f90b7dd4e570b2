#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "unlearn/row_pairs.h"

namespace fmd::internal {

// Sparse features and pairs whose differences are few: a flip takes one value's column and
// adds another's, so thousands of pairs share one difference. Then a pair costs one
// division: with E = exp(theta . delta), made once for each difference, p(cbar) is
// 1 / (1 + exp(-z) E).
class SharedPairs final : public RowPairs {
 public:
  // Null where the features are not sparse, have offsets or take too much memory, or where
  // the differences are too many.
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
  struct Entry {
    std::int32_t feature;
    float value;
  };
  // Lists of entries, one after the other.
  struct Lists {
    std::vector<Index> start = {0};
    std::vector<Entry> entry;
    [[nodiscard]] Index size() const { return std::ssize(start) - 1; }
    [[nodiscard]] std::span<const Entry> of(Index i) const {
      const Entry* const all = entry.data();
      return {all + start[static_cast<std::size_t>(i)],
              all + start[static_cast<std::size_t>(i) + 1]};
    }
  };
  struct Builder;
  struct Lower;
  SharedPairs(PairsByRow rows, Index inputs, const Exec& exec)
      : exec_(exec), inputs_(inputs), of_(std::move(rows)) {}
  [[nodiscard]] double dot(std::span<const Entry> list, const Vector& v) const;
  [[nodiscard]] Vector dots(const Vector& v) const;  // of all differences
  template <typename Body>
  double sum(Vector& into, const Body& body) const;
  void add_curvature(const Scores& scores, Index first, Index last, double anchor,
                     double lambda, Lower& sum) const;

  const Exec& exec_;
  Index inputs_;
  PairsByRow of_;
  Lists row_, difference_;           // features of each row and of each difference
  std::vector<std::int32_t> which_;  // difference of each place of a pair
  Vector theta0_, z0_, p0_;          // logit and score of each row at theta0
};

}  // namespace fmd::internal
