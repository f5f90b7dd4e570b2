#include "fmd/influence/influence.h"

#include <cmath>

#include "core/check.h"
#include "core/sums.h"
#include "model/block_loss.h"
#include "model/slice.h"

namespace fmd {
namespace {

constexpr Index kTileRows = 256;  // their features are read once for both products

void validate(const LinearHead& head, const Rows& train, const Vector& theta,
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

bool counts(const Rows& rows, Index entry) {
  return rows.weight_of(entry) != 0 && rows.label(entry) >= 0;
}

// d(w L)/dz of the tile's rows from their logits, in place, and in `start` the same at
// theta = 0; 0 where a row does not count.
void loss_slopes(const Rows& train, Index first, Matrix& z, Matrix& start) {
  const Index outputs = z.cols();
  const double even = 1 / static_cast<double>(classes_of(outputs));
  Matrix p(z.rows(), classes_of(outputs));
  block_probabilities(z, p);
  start.setZero(z.rows(), outputs);
  for (Index i = 0; i < z.rows(); ++i) {
    const Index entry = first + i;
    if (!counts(train, entry)) {
      z.row(i).setZero();
      continue;
    }
    const double w = train.weight_of(entry);
    const std::int32_t y = train.label(entry);
    if (outputs == 1) {
      z(i, 0) = w * (y == 1 ? -p(i, 0) : p(i, 1));
      start(i, 0) = w * (even - y);
      continue;
    }
    for (Index k = 0; k < outputs; ++k) z(i, k) = w * p(i, k);
    start.row(i).setConstant(w * even);
    z(i, y) -= w;
    start(i, y) -= w;
  }
}

// One pass: change(i, j) = (1/n) d(w L_i)/dz . J_i v_j, and the sums of the losses'
// gradients at theta and at 0.
struct Pass {
  const LinearHead& head;
  const Rows& train;
  const Vector& theta;
  const Matrix& v;
  double n;
  LinearHead wide;   // theta and all directions side by side: logits and J v in one go
  LinearHead twice;  // for both gradients in one go
  Vector stacked;

  Pass(const LinearHead& h, const Rows& rows, const Vector& at, const Matrix& directions,
       double in_mean)
      : head(h),
        train(rows),
        theta(at),
        v(directions),
        n(in_mean),
        wide(h.inputs(), h.outputs() * (1 + directions.cols())),
        twice(h.inputs(), 2 * h.outputs()),
        stacked(at.size() * (1 + directions.cols())) {
    stacked.head(theta.size()) = theta;
    for (Index j = 0; j < v.cols(); ++j)
      stacked.segment((1 + j) * theta.size(), theta.size()) = v.col(j);
  }

  void block(Index b, Matrix& change, Vector& gradients) const {
    const Index outputs = head.outputs();
    Vector sums = Vector::Zero(2 * theta.size());
    Scratch scratch;
    Matrix both, slope, slope_start, slopes;
    const FeatureBlock all = train.block(b, scratch);
    for (Index i = 0; i < all.rows; i += kTileRows) {
      const Index rows = std::min(kTileRows, all.rows - i), first = b * kBlockRows + i;
      const FeatureBlock tile = slice(all, i, rows);
      wide.logits(tile, stacked, both);
      slope = both.leftCols(outputs);
      loss_slopes(train, first, slope, slope_start);
      for (Index r = 0; r < rows; ++r)
        for (Index j = 0; j < v.cols(); ++j)
          change(first + r, j) =
              slope.row(r).dot(both.row(r).segment((1 + j) * outputs, outputs)) / n;
      slopes.resize(rows, 2 * outputs);
      slopes << slope, slope_start;
      twice.vjp(tile, sums, {}, slopes, sums);
    }
    gradients += sums;
  }
};

void require_labels(const LinearHead& head, const Rows& train) {
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

InfluenceResult influence(const LinearHead& head, const Rows& train, const Vector& theta,
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
  const SolveResult solved = inverse->apply(gradients);
  result.solve = solved.summary;
  if (!solved.x.allFinite())
    throw Error(ErrorKind::numerical, "influence: the solution is not finite",
                "use a larger damping, or more rows");
  result.change.resize(train.size(), count);
  const Pass pass(head, train, theta, solved.x, n);
  const Index p = theta.size();
  const Vector losses =
      reduce<Sums>(
          block_count(train.size()), [&] { return Sums{Vector::Zero(2 * p)}; },
          [&](Sums& sums, Index b) { pass.block(b, result.change, sums.values); }, exec)
          .values;
  const Vector here = losses.head(p) / n + ridge_gradient(head, theta, curvature.l2);
  const double start = losses.tail(p).norm() / n;
  result.relative_gradient = start > 0 ? here.norm() / start : 0;
  return result;
}

}  // namespace fmd
