#include "pipeline/step_curvature.h"

#include "fmd/curvature/hessian.h"
#include "model/stacked_rows.h"

namespace fmd::internal {
namespace {

constexpr double kNetworkTolerance = 1e-4;

// A receipt is verified to 1e-6 on other machines. With hidden layers that is not possible.
double tolerance_of(const Head& head) { return head.linear() ? 1e-10 : kNetworkTolerance; }

}  // namespace

bool hessian_from_train(const CandidateInput& input, const DebiasOptions& options) {
  return input.train != nullptr && options.hessian != HessianRows::data;
}

StepCurvature::StepCurvature(const CandidateInput& input, const DebiasOptions& options)
    : input_(input),
      from_train_(hessian_from_train(input, options)),
      solver_(options.newton.solver) {
  if (from_train_) {
    train_ = input.train->training_rows();
    n_ = static_cast<double>(input.train->table.rows());
    return;
  }
  // A row and its flips have the same weight; several attributes share it.
  const Study& study = *input.edit.study;
  const auto share = 1 / static_cast<float>(input.edit.pairs.size());
  c_weight_.assign(study.y.size(), 0);
  for (const StudyPairs& pairs : input.edit.pairs) {
    cbar_weight_.emplace_back();
    for (std::size_t i = 0; i < pairs.row.size(); ++i) {
      const float weight = share * pairs.weight[i];
      c_weight_[static_cast<std::size_t>(pairs.row[i])] += weight;
      cbar_weight_.back().push_back(weight);
      n_ += 2 * static_cast<double>(weight);
    }
  }
  for (std::size_t row = 0; row < c_weight_.size(); ++row)
    if (c_weight_[row] > 0) c_rows_.push_back(static_cast<Index>(row));
}

Matrix StepCurvature::pairs_hessian(const Vector& theta, const Exec& exec) const {
  const LinearHead& head = linear_head(input_.model);
  Rows c = input_.edit.study->rows(c_rows_);
  c.weight = c_weight_;
  Matrix H = hessian(head, c, theta,
                     {.l2 = input_.model.note.l2, .rows_in_mean = n_, .gauge = true}, exec);
  for (std::size_t a = 0; a < cbar_weight_.size(); ++a) {
    const StudyPairs& pairs = input_.edit.pairs[a];
    const Rows cbar{
        .X = pairs.cbar.get(), .y = pairs.y, .weight = cbar_weight_[a], .subset = {}};
    H += hessian(head, cbar, theta, {.l2 = 0, .rows_in_mean = n_, .gauge = true}, exec);
  }
  return H;
}

// One list of rows for products: c and cbar. Networks read it dense.
std::unique_ptr<InverseHessian> StepCurvature::of_pair_rows(const Vector& theta,
                                                            const Exec& exec) const {
  if (both_ == nullptr) {
    std::vector<Rows> lists{input_.edit.study->rows(c_rows_)};
    for (const Index row : c_rows_)
      both_weight_.push_back(c_weight_[static_cast<std::size_t>(row)]);
    for (std::size_t a = 0; a < cbar_weight_.size(); ++a) {
      lists.push_back(
          {.X = input_.edit.pairs[a].cbar.get(), .y = {}, .weight = {}, .subset = {}});
      both_weight_.insert(both_weight_.end(), cbar_weight_[a].begin(),
                          cbar_weight_[a].end());
    }
    both_ = stack_rows(lists, !input_.model.head->linear());
  }
  CurvatureOptions options;
  options.solver = solver_;
  options.l2 = input_.model.note.l2;
  options.rows_in_mean = n_;
  options.damping.external = true;
  options.tolerance = tolerance_of(*input_.model.head);
  const Rows both{.X = both_.get(), .y = {}, .weight = both_weight_, .subset = {}};
  return make_inverse_hessian(*input_.model.head, both, theta, options, exec);
}

std::unique_ptr<InverseHessian> StepCurvature::at(const Vector& theta,
                                                  const Exec& exec) const {
  if (from_train_) {
    CurvatureOptions options;
    options.solver = solver_;
    options.l2 = input_.model.note.l2;
    options.tolerance = tolerance_of(*input_.model.head);
    return make_inverse_hessian(*input_.model.head, train_, theta, options, exec);
  }
  if (!input_.model.head->linear() || theta.size() > kMostDense)
    return of_pair_rows(theta, exec);
  return make_cholesky(pairs_hessian(theta, exec), {.damping = -1, .external = true});
}

}  // namespace fmd::internal
