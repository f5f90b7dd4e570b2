#pragma once

#include <span>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/rows.h"

namespace fmd {

// Which training rows the leaf values of boosted trees come from, with the trees' structure
// fixed. Leaf values are no optimum of a common loss: each tree is fitted after the other
// and shrunk. So the change of a measure B is the adjoint of that recursion, exact to first
// order, for all rows in one sweep.
//
// Fitting, for trees t = 1 .. T, with p before tree t, g = p - y and h = p (1 - p):
//   theta_l = -eta G_l / H_l,  G_l = sum_{i in l} w_i g_i,  H_l = sum w_i h_i + lambda
// Adjoint, t = T .. 1, with a_i = 0 at the start and l the leaf of row i in tree t:
//   tb_l = dB/dtheta_l + sum_{i in l} a_i,   c_i = tb_l / H_l
//   dB/dw_i -= c_i (eta g_i + theta_l h_i)
//   a_i     -= w_i c_i (eta h_i + theta_l h_i (1 - 2 p_i))
// and where the base is the log-odds of the labels, b = logit(ybar), after t = 1:
//   dB/dw_k += (sum_i a_i + dB/db) (y_k - ybar) / (sum w ybar (1 - ybar)).
// The predicted change without row k is -w_k dB/dw_k.

struct BoostingOptions {
  double eta = 0;      // learning rate; 0 = solved from leaf values and rows
  double lambda = -1;  // l2 of leaves; -1 = the same
  // What LightGBM adds to lambda for leaves that a split on many categories made. A leaf
  // has it or not: the value that fits it better.
  double category_lambda = 10;
};

// The domain: one output, leaf values as above on all of these rows. No subsampling, dart,
// alpha, max_delta_step, class weights, or leaves that were changed later.
class Boosting {
 public:
  // train: X has one entry of 1 for each tree in each row, trees in order, and labels.
  // Throws Error(unsupported), with the reason and how far the leaf values are off, outside
  // the domain; Error(bad_shape, bad_data).
  Boosting(const LinearHead& head, const Rows& train, const Vector& theta,
           const BoostingOptions& options = {});

  [[nodiscard]] double eta() const { return eta_; }
  [[nodiscard]] double lambda() const { return lambda_; }
  [[nodiscard]] bool base_fitted() const { return base_fitted_; }
  [[nodiscard]] Index category_leaves() const;  // whose lambda is the larger one
  // The largest difference between a leaf value and the refitted one.
  [[nodiscard]] double residual() const { return residual_; }

  // Predicted change of each measure without each row: rows x measures. gradients:
  // dB/dtheta of each measure.
  [[nodiscard]] Matrix changes(const Matrix& gradients) const;
  // Leaf values fitted again, tree after tree, without the given entries of `train`. A new
  // base is in the leaves of the first tree.
  [[nodiscard]] Vector refit(std::span<const Index> without) const;

 private:
  struct Sums {
    Vector G, H;  // of each leaf, without lambda
  };
  void read_rows(const Rows& train, const Vector& theta);
  void solve_rates(const BoostingOptions& options);
  // True when the refit gives the leaf values.
  [[nodiscard]] bool fits(const BoostingOptions& options);
  [[nodiscard]] bool fits_with_categories(const BoostingOptions& options);
  [[nodiscard]] Sums sums_of(std::size_t tree, const Vector& z,
                             const std::vector<double>& weight) const;
  [[nodiscard]] double base_of(const std::vector<double>& weight) const;
  [[nodiscard]] Vector fitted(const std::vector<double>& weight) const;

  std::size_t trees_ = 0, rows_ = 0;
  std::vector<std::int32_t> leaf_;   // of tree t and row i: [t rows + i]
  std::vector<Index> first_, last_;  // leaves of each tree: [first, last)
  std::vector<double> y_, weight_;
  Vector theta_;       // of the file
  Vector own_;         // without a base that the first tree holds
  Vector extra_;       // l2 of each leaf beyond lambda
  double offset_ = 0;  // in the features
  double base_ = 0;    // before the first tree
  bool base_fitted_ = false;
  double eta_ = 0, lambda_ = 0, residual_ = 0;
};

}  // namespace fmd
