#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"
#include "unlearn/delta.h"

namespace fmd::internal {

// Rows that do not count, where a part of the rows is left out.
struct UncountedRows {
  std::span<const char> row = {};  // by row number; 1 = does not count. Empty: all count
  bool of_rows = false;            // these are numbers of the rows of H,
  std::size_t sets = 0;            // and of the first sides of so many sets of pairs
};

// A repair of trees, carried on over all leaves: steps of conjugate gradients, with the
// diagonal as preconditioner, that lower
//
//   1/2 (theta - theta0)^T H (theta - theta0) + lambda theta^T G theta
//
// with H and G as in fmd/unlearn/path.h, both at theta0. The start is a repair of those
// leaves alone that a flip reaches. It cannot make up for what these leaves knew beside the
// attribute; the other leaves can. Few steps are best: on ACSIncome the accuracy on unseen
// rows is highest after about 5, later steps follow the noise of the rows.
//
// The head: each feature counts for one output, no intercepts. Nothing is formed: memory is
// that of the rows' entries, of at most kPolishRows rows, which lie evenly among all.
// Same bits for any number of threads.
inline constexpr Index kPolishRows = 32768;

class LeafPolish {
 public:
  // The head must outlive it. Throws Error(bad_shape, unsupported).
  LeafPolish(const LinearHead& head, const Rows& rows, std::span<const PairSet> pairs,
             const Vector& theta0, double l2, const Exec& exec);

  [[nodiscard]] Vector run(const Vector& start, double lambda, Index steps,
                           const UncountedRows& uncounted) const;
  // The same for several starts, each with rows of its own that do not count: the same bits
  // as one after the other, and faster, because an entry is read once for eight of them.
  [[nodiscard]] std::vector<Vector> run_all(std::span<const Vector> starts, double lambda,
                                            Index steps,
                                            std::span<const UncountedRows> uncounted) const;
  // The same from the start on, in more steps, such that no first parameter of a pair is
  // above its second: a growing penalty on the pairs that are out of order, then the last
  // of it is taken away by moving them. Exact for any start.
  [[nodiscard]] Vector run_ordered(const Vector& start, double lambda,
                                   std::span<const std::pair<Index, Index>> ordered,
                                   const UncountedRows& uncounted) const;
  // (H + ridge + 2 lambda G)^-1 b, in so many steps from 0, for several b as in run_all().
  [[nodiscard]] std::vector<Vector> solve_all(
      std::span<const Vector> b, double lambda, double ridge, Index steps,
      std::span<const UncountedRows> uncounted) const;
  [[nodiscard]] double mean_diagonal() const;  // of H
  // The largest and the median ratio of the diagonals of G and H where G has one.
  [[nodiscard]] std::pair<double, double> diagonal_ratios() const;
  // The gradient of the form above; for tests.
  [[nodiscard]] Vector gradient(const Vector& theta, double lambda,
                                const UncountedRows& uncounted) const;

 private:
  struct RowBlock {
    std::vector<Index> number, start;  // of each row; of its entries
    std::vector<std::int32_t> column;
    std::vector<float> value;  // empty: ones
    Matrix p;                  // probabilities of the classes
    std::vector<double> weight;
  };
  struct PairBlock {
    std::vector<Index> number;  // of each first side
    Delta delta;
    Matrix square;  // a row for each pair: Sbar Sbar, row after row
    std::vector<double> weight;
  };
  // Pairs that are held together, each with its weight.
  struct Tie {
    Index first = 0, second = 0;
    double weight = 0;
  };
  // K vectors, a column each: the numbers of one parameter lie side by side.
  template <int K>
  using Lanes =
      Eigen::Matrix<double, Eigen::Dynamic, K, K == 1 ? Eigen::ColMajor : Eigen::RowMajor>;
  using Uncounted = std::span<const UncountedRows>;  // of each lane
  template <int K>
  [[nodiscard]] Lanes<K> run_lanes(const Lanes<K>& start, double lambda, Index steps,
                                   std::span<const Tie> ties, Uncounted uncounted) const;
  template <int K, typename Work>
  std::vector<Vector> in_lanes(std::span<const Vector> from, Uncounted uncounted,
                               const Work& work) const;
  template <int K>
  static void pull(std::span<const Tie> ties, const Lanes<K>& v, Lanes<K>& into);
  template <int K>
  [[nodiscard]] Lanes<K> descend(const Lanes<K>& b, double lambda, double ridge,
                                 Index steps, std::span<const Tie> ties,
                                 Uncounted uncounted) const;
  [[nodiscard]] RowBlock make_rows(const Rows& rows, Index b) const;
  [[nodiscard]] PairBlock make_pairs(const PairSet& pairs, Index b) const;
  [[nodiscard]] Index output(Index feature) const;
  // H v and G v, or with `diagonal` the diagonals of H and G.
  template <int K>
  [[nodiscard]] Lanes<K> curvature(const Lanes<K>& v, bool diagonal,
                                   Uncounted uncounted) const;
  template <int K>
  [[nodiscard]] Lanes<K> consistency(const Lanes<K>& v, bool diagonal,
                                     Uncounted uncounted) const;
  template <int K>
  void add_rows(const RowBlock& block, const Lanes<K>& v, bool diagonal,
                Uncounted uncounted, double* into) const;
  template <int K>
  void add_pairs(const PairBlock& block, const Lanes<K>& v, bool diagonal,
                 Uncounted uncounted, double* into) const;

  const LinearHead& head_;
  Vector theta0_;
  double l2_;
  Exec exec_;
  std::vector<RowBlock> rows_;
  std::vector<std::vector<PairBlock>> pairs_;
};

}  // namespace fmd::internal
