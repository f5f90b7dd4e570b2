#include <cmath>

#include "fmd/pipeline/audit.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// dp_k/da of one row, for du = dz/da of each output.
void probability_slope(const Matrix& p, Index row, const Vector& du, Vector& dp) {
  if (du.size() == 1) {
    dp(1) = p(row, 0) * p(row, 1) * du(0);
    dp(0) = -dp(1);
    return;
  }
  const double mean = p.row(row).dot(du);
  for (Index k = 0; k < du.size(); ++k) dp(k) = p(row, k) * (du(k) - mean);
}

}  // namespace

std::optional<SlopeReport> measure_slope(const Model& model, const Study& study,
                                         const Attribute& attribute,
                                         const AuditOptions& options, const Exec& exec) {
  if (attribute.flips() || !head_on_columns(model)) return std::nullopt;
  const EncodedColumn* read = model.backbone->encoder().find(attribute.columns[0]);
  if (read == nullptr || read->kind != ColumnKind::number) return std::nullopt;
  const Column& column = study.table.column(read->name);
  // The feature is (a - mean) / scale.
  const Matrix slopes =
      all_input_slopes(*model.head, study.rows(), model.theta, read->first, exec);
  const Matrix p = all_probabilities(*model.head, study.rows(), model.theta, exec);
  const int favorable = model.task.favorable_class();
  std::vector<double> sizes;
  double sum = 0;
  Vector dp(p.cols());
  for (Index i = 0; i < p.rows(); ++i) {
    if (std::isnan(column.numbers[static_cast<std::size_t>(i)])) continue;
    probability_slope(p, i, slopes.row(i).transpose() / read->scale, dp);
    sizes.push_back(dp.lpNorm<1>() / 2);
    if (favorable >= 0) sum += dp(favorable);
  }
  if (sizes.empty()) return std::nullopt;
  const auto rows = static_cast<Index>(sizes.size());
  SlopeReport slope;
  slope.rows = rows;
  slope.deviation = read->scale;
  slope.per_unit = bootstrap_mean(Eigen::Map<const Vector>(sizes.data(), rows),
                                  options.confidence, options.replicates, exec);
  const auto scaled = [&](double x) { return x * slope.deviation; };
  slope.per_deviation = {scaled(slope.per_unit.value), scaled(slope.per_unit.low),
                         scaled(slope.per_unit.high)};
  if (favorable >= 0) slope.signed_per_unit = sum / static_cast<double>(rows);
  return slope;
}

}  // namespace fmd
