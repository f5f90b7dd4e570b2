#include "repair/cross_fit.h"

#include <algorithm>

#include "core/index.h"
#include "fmd/curvature/hessian.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/repair/choice.h"
#include "repair/group_targets.h"
#include "repair/newton_candidates.h"
#include "repair/shared_fit.h"

namespace fmd::internal {
namespace {

// Means over all rows but a fold's, from sums: one pass over the rows serves all folds.
class LeftOut {
 public:
  void add(const Matrix& mean, double weight) {
    sums_.push_back(weight * mean);
    weights_.push_back(weight);
    if (total_.size() == 0) total_ = Matrix::Zero(mean.rows(), mean.cols());
    total_ += sums_.back();
    weight_ += weight;
  }
  [[nodiscard]] Matrix without(std::size_t fold) const {
    return (total_ - sums_[fold]) / (weight_ - weights_[fold]);
  }

 private:
  std::vector<Matrix> sums_;
  std::vector<double> weights_;
  Matrix total_;
  double weight_ = 0;
};

// Solve starts from what all rows gave; a target on a group gap starts from the path.
bool needs_dense_path(const HeadProblem& problem, const RepairOptions& options) {
  if (!problem.head->linear() || problem.theta.size() > kMostDense ||
      repairs_matched(problem, options))
    return false;
  return options.method == RepairMethod::path ||
         (options.method == RepairMethod::solve && targets_group_gap(options));
}

}  // namespace

CrossFit::CrossFit(const HeadProblem& problem, const RepairOptions& options,
                   const Candidates& whole, const Exec& exec)
    : problem_(problem), options_(options), whole_(whole) {
  for (std::size_t k = 0; k < problem.folds.size(); ++k)
    folds_.push_back(std::make_unique<FoldProblem>(problem, k));
  if (needs_dense_path(problem, options)) paths_ = fold_paths(exec);
  theta_.assign(folds_.size(), std::vector<Vector>(whole.all.size()));
}

std::vector<Path> CrossFit::fold_paths(const Exec& exec) const {
  const LinearHead& head = *problem_.head->as_linear();
  const Vector& theta = problem_.theta;
  const HessianOptions how{.l2 = problem_.l2};
  const bool from_train = hessian_from_train(problem_, options_);
  LeftOut H;
  std::vector<LeftOut> G(problem_.edit.pairs.size());
  for (const auto& fold : folds_) {
    const HeadPart& part = fold->fold.part;
    if (!from_train)
      H.add(hessian(head, part.rows, theta, how, exec),
            static_cast<double>(part.rows.size()));
    for (std::size_t a = 0; a < G.size(); ++a)
      G[a].add(consistency_matrix(head, std::span(&part.pairs[a], 1), theta, exec),
               part.pairs[a].total_weight());
  }
  Matrix more;  // pairs of training rows are in no fold
  const std::span<const PairSet> others = more_pairs(problem_);
  if (!others.empty()) more = consistency_matrix(head, others, theta, exec);
  const auto sets = static_cast<double>(G.size() + others.size());
  const Matrix of_train =
      from_train ? hessian(head, problem_.train->rows, theta, how, exec) : Matrix{};
  std::vector<Path> paths;
  for (std::size_t k = 0; k < folds_.size(); ++k) {
    Matrix mean = Matrix::Zero(theta.size(), theta.size());
    for (const LeftOut& one : G) mean += one.without(k) / sets;
    if (!others.empty()) mean += static_cast<double>(others.size()) / sets * more;
    paths.push_back(make_path(from_train ? of_train : H.without(k), mean, theta));
  }
  return paths;
}

void CrossFit::fit(std::span<const std::size_t> positions, const Exec& exec) {
  std::vector<Candidate> wanted;
  for (const std::size_t i : positions) wanted.push_back(whole_.all[i]);
  for (std::size_t k = 0; k < folds_.size(); ++k) {
    exec.report("cross-fitting", static_cast<Index>(k), std::ssize(folds_));
    SharedFit shared{
        .wanted = wanted, .whole = &whole_, .path = paths_.empty() ? nullptr : &paths_[k]};
    for (std::size_t i = 0; i < whole_.all.size(); ++i)
      if (theta_[k][i].size() > 0)
        shared.fitted.emplace_back(whole_.all[i].lambda, &theta_[k][i]);
    // What a fold does is not shown: there are several, and the grid is short.
    Exec quiet = exec;
    quiet.progress = nullptr;
    Candidates made = make_shared_candidates(folds_[k]->problem, options_, shared, quiet);
    for (std::size_t i = 0; i < positions.size(); ++i)
      theta_[k][positions[i]] = std::move(made.all[i].theta);
  }
}

}  // namespace fmd::internal
