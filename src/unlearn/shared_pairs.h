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
// p / (p + (1 - p) E). Rows with the same list of differences stand together in runs, so
// that vectors hold one pair of several rows each.
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
  // Rows that have the same differences. Pair `slot` of its row i stands at
  // place + slot * stride + i.
  struct Run {
    Index row, rows, stride, place;
    std::span<const std::int32_t> difference;  // of each slot
  };
  struct Builder;
  struct Lower;
  struct Chunk;
  SharedPairs(PairsByRow rows, Index inputs, const Exec& exec)
      : exec_(exec), inputs_(inputs), of_(std::move(rows)) {}
  [[nodiscard]] double dot(std::span<const Entry> list, const Vector& v) const;
  [[nodiscard]] Vector dots(const Vector& v) const;  // of all differences
  template <typename Body>
  double sum(Vector& into, Vector& by_difference, const Body& body) const;
  void inexact_product(const Run& run, const Scores& scores, const Vector& du, Chunk& chunk,
                       double* bar) const;
  void add_curvature(const Run& run, const Scores& scores, double anchor, double lambda,
                     Lower& sum) const;

  const Exec& exec_;
  Index inputs_;
  PairsByRow of_;
  Lists row_, difference_;  // features of each row and of each difference
  std::vector<std::vector<std::int32_t>> lists_;  // of differences, each once
  std::vector<Run> runs_;
  std::vector<Index> block_;  // runs from block_[b] to block_[b + 1] are summed together
  Index places_ = 0;
  std::vector<double> weight_;  // of each place; 0 behind the rows of a run
  // At theta0: logit of each row, score, 1 - score and log(1 + exp(-|logit|)).
  Vector theta0_, z0_, p0_, q0_, tail0_;
};

}  // namespace fmd::internal
