#include "fmd/influence/influence.h"

#include <cmath>

#include "core/check.h"
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

// |grad F| over |grad F(0)|, from the gradients' sums over rows that have a label.
double relative_gradient(const LinearHead& head, const Rows& train, const Vector& theta,
                         double l2, double n, const Exec& exec) {
  std::vector<float> weight;
  Rows known = train;
  for (Index i = 0; i < train.size() && weight.empty(); ++i) {
    if (counts(train, i)) continue;
    weight.assign(static_cast<std::size_t>(train.X->rows()), 0.0F);
    for (Index e = 0; e < train.size(); ++e)
      if (counts(train, e))
        weight[static_cast<std::size_t>(train.row(e))] =
            static_cast<float>(train.weight_of(e));
  }
  if (!weight.empty()) known.weight = weight;
  const double here = objective(head, known, theta, l2, n, exec).gradient.norm();
  const Vector none = Vector::Zero(theta.size());
  const double start = objective(head, known, none, l2, n, exec).gradient.norm();
  return start > 0 ? here / start : 0;
}

// d(w L)/dz of the tile's rows from their logits, in place; 0 where a row does not count.
void loss_slopes(const Rows& train, Index first, Matrix& z) {
  const Index outputs = z.cols();
  Matrix p(z.rows(), classes_of(outputs));
  block_probabilities(z, p);
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
    } else {
      for (Index k = 0; k < outputs; ++k) z(i, k) = w * p(i, k);
      z(i, y) -= w;
    }
  }
}

// change(i, j) = (1/n) d(w L_i)/dz . J_i v_j for the entries of one block.
void block_changes(const LinearHead& head, const Rows& train, const Vector& theta,
                   const Matrix& v, double n, Index b, Matrix& change) {
  const Index outputs = head.outputs(), count = v.cols();
  // theta and all directions side by side: one pass gives logits and J v.
  const LinearHead wide(head.inputs(), outputs * (1 + count));
  Vector stacked(theta.size() * (1 + count));
  stacked.head(theta.size()) = theta;
  for (Index j = 0; j < count; ++j)
    stacked.segment((1 + j) * theta.size(), theta.size()) = v.col(j);
  Scratch scratch;
  Matrix both;
  const FeatureBlock block = train.block(b, scratch);
  for (Index i = 0; i < block.rows; i += kTileRows) {
    const Index rows = std::min(kTileRows, block.rows - i), first = b * kBlockRows + i;
    wide.logits(slice(block, i, rows), stacked, both);
    Matrix slope = both.leftCols(outputs);
    loss_slopes(train, first, slope);
    for (Index r = 0; r < rows; ++r)
      for (Index j = 0; j < count; ++j)
        change(first + r, j) =
            slope.row(r).dot(both.row(r).segment((1 + j) * outputs, outputs)) / n;
  }
}

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
  const Index blocks = block_count(train.size());
  exec.for_each(blocks, [&](Index b) {
    block_changes(head, train, theta, solved.x, n, b, result.change);
  });
  result.relative_gradient = relative_gradient(head, train, theta, curvature.l2, n, exec);
  return result;
}

}  // namespace fmd
