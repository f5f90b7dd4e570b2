#include "fmd/influence/influence.h"

#include <cmath>

#include "core/check.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "influence/sweep.h"

namespace fmd {
namespace {

void validate(const Head& head, const Rows& train, const Vector& theta,
              const std::vector<BiasTarget>& targets) {
  require_size("influence", "theta", theta.size(), head.parameters());
  if (train.X == nullptr || train.size() == 0)
    throw Error(ErrorKind::bad_data, "influence: there are no training rows",
                "give at least one row");
  require_size("influence", "a row of features", train.X->cols(), head.inputs());
  require_size("influence", "y", static_cast<Index>(train.y.size()), train.X->rows());
  if (targets.empty())
    throw Error(ErrorKind::bad_option, "influence: no measure is named",
                "name at least one measure");
}

void require_labels(const Head& head, const Rows& train) {
  const Index classes = classes_of(head.outputs());
  for (Index i = 0; i < train.size(); ++i) {
    if (train.label(i) < classes) continue;
    throw Error(ErrorKind::bad_data,
                fmt::format("influence: row {} has label {}, must be 0 to {}", train.row(i),
                            train.label(i), classes - 1));
  }
}

}  // namespace

MeasureValue gap_of(const BiasTarget& target, const Head& head, const Vector& theta,
                    bool gradient, const Exec& exec) {
  if (target.measure == nullptr)
    throw Error(ErrorKind::bad_option, "influence: a target has no measure");
  MeasureValue gap = evaluate(*target.measure, target.data, head, theta, gradient, exec);
  if (gap.value < 0) {
    gap.value = -gap.value;
    gap.gradient = -gap.gradient;
  }
  return gap;
}

InfluenceResult influence(const Head& head, const Rows& train, const Vector& theta,
                          const std::vector<BiasTarget>& targets,
                          const InfluenceOptions& options, const Exec& exec) {
  validate(head, train, theta, targets);
  require_labels(head, train);
  const CurvatureOptions& curvature = options.curvature;
  const double n = curvature.rows_in_mean > 0 ? curvature.rows_in_mean
                                              : static_cast<double>(train.size());
  const auto count = static_cast<Index>(targets.size());
  InfluenceResult result;
  Matrix gradients(theta.size(), count);
  for (Index j = 0; j < count; ++j) {
    const MeasureValue gap =
        gap_of(targets[static_cast<std::size_t>(j)], head, theta, true, exec);
    result.value.push_back(gap.value);
    gradients.col(j) = gap.gradient;
  }
  CurvatureOptions of_rows = curvature;
  const bool own_rows = options.curvature_rows.X == nullptr;
  if (!own_rows) of_rows.rows_in_mean = 0;  // a mean over those rows
  const auto inverse = make_inverse_hessian(head, own_rows ? train : options.curvature_rows,
                                            theta, of_rows, exec);
  const InverseResult solved = inverse->apply(gradients);
  result.solve = solved.summary;
  if (!solved.x.allFinite())
    throw Error(ErrorKind::numerical, "influence: the solution is not finite",
                "use a larger damping, or more rows");
  result.change.resize(train.size(), count);
  const LossGradients losses =
      sweep_rows(head, train, theta, solved.x, result.change, exec);
  result.change /= n;
  const Vector here = losses.here / n + ridge_gradient(head, theta, curvature.l2);
  const double start = losses.start.norm() / n;
  result.relative_gradient = start > 0 ? here.norm() / start : 0;
  return result;
}

}  // namespace fmd
