#include "fmd/pipeline/slope.h"

#include <cmath>

#include "core/check.h"
#include "fmd/metrics/testing.h"
#include "fmd/model/passes.h"
#include "fmd/pipeline/audit.h"
#include "metrics/tally/saved_state.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

constexpr int kUnit = 60;
constexpr std::uint32_t kSlopeFormat = 1;
constexpr std::size_t kKeepRows = 200'000;

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

// An upper bound of half the sum of |dp/dx|, for any row. It follows from the sizes of all
// weights on the way from the feature to the outputs; the slope of an activation is at most
// 1.13 (GELU's).
double most_slope(const Model& model, Index feature) {
  Vector reach = Vector::Unit(model.head->inputs(), feature);
  for (const auto& [start, layer] : layers_of(*model.head)) {
    const Matrix W = layer.W(model.theta.segment(start, layer.parameters()));
    reach = (start == 0 ? 1.0 : 1.13) * (W.cwiseAbs() * reach);
  }
  return reach.size() == 1 ? reach(0) : 2 * reach.maxCoeff();
}

Interval scaled(const Interval& i, double by) {
  return {by * i.value, by * i.low, by * i.high, i.kind};
}

// The mean of kept sizes: replicates and acceleration do not depend on the rows' order.
Interval kept_mean(double mean, const std::vector<double>& sizes,
                   const AuditOptions& options, const Exec& exec) {
  const auto n = static_cast<double>(sizes.size());
  const Eigen::Map<const Vector> all(sizes.data(), static_cast<Index>(sizes.size()));
  const Matrix means = bootstrap_sums(all, options.replicates, exec) / n;
  std::vector<double> left_out;
  if (options.intervals == Bootstrap::bca)
    for (const double x : sizes) left_out.push_back((n * mean - x) / (n - 1));
  return bootstrap_interval(mean, {means.data(), means.data() + means.size()},
                            jackknife_acceleration(std::move(left_out)), options.confidence,
                            options.intervals);
}

}  // namespace

std::optional<SlopeTally> SlopeTally::of(const Model& model, const Attribute& attribute) {
  if (attribute.flips() || !head_on_columns(model)) return std::nullopt;
  const ColumnFeatures* read = model.backbone->columns()->find(attribute.columns[0]);
  if (read == nullptr || read->kind != ColumnKind::number) return std::nullopt;
  SlopeTally tally;
  tally.feature_ = read->first;
  tally.deviation_ = read->scale;
  tally.most_ = most_slope(model, read->first) / read->scale;
  tally.favorable_ = model.task.favorable_class();
  return tally;
}

void SlopeTally::add(const Model& model, const Rows& rows, const Matrix& p,
                     std::span<const std::int32_t> code, const Exec& exec) {
  require_size("slope", "code", std::ssize(code), p.rows());
  // The feature is (a - mean) / scale, so dz/da = dz/dx / scale.
  const Matrix du =
      all_input_slopes(*model.head, rows, model.theta, feature_, exec) / deviation_;
  Vector dp(p.cols());
  for (Index i = 0; i < p.rows(); ++i) {
    if (code[static_cast<std::size_t>(i)] < 0) continue;
    probability_slope(p, i, du.row(i), dp);
    const double size = most_ == 0 ? 0 : dp.lpNorm<1>() / 2 / most_;
    sizes_.add(size);
    if (favorable_ >= 0 && most_ > 0)
      (dp(favorable_) < 0 ? falls_ : rises_).add(std::abs(dp(favorable_)) / most_, kUnit);
    if (!keeping_) continue;
    kept_.push_back(size);
    if (kept_.size() <= kKeepRows) continue;
    keeping_ = false;
    kept_ = {};
  }
}

void SlopeTally::merge(const SlopeTally& other) {
  if (feature_ != other.feature_ || deviation_ != other.deviation_ ||
      most_ != other.most_ || favorable_ != other.favorable_)
    throw Error(ErrorKind::bad_shape, "slope: two tallies of different slopes",
                "merge tallies of the same model");
  sizes_.merge(other.sizes_);
  rises_.add(other.rises_);
  falls_.add(other.falls_);
  keeping_ = keeping_ && other.keeping_ && kept_.size() + other.kept_.size() <= kKeepRows;
  if (!keeping_) kept_ = {};
  if (keeping_) kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
}

void SlopeTally::save(ByteWriter& out) const {
  out.put(kSlopeFormat);
  out.put(feature_);
  out.put(deviation_);
  out.put(most_);
  out.put(static_cast<std::int32_t>(favorable_));
  sizes_.save(out);
  out.put(rises_);
  out.put(falls_);
  out.put(static_cast<std::uint8_t>(keeping_));
  put_all(out, kept_);
}

SlopeTally SlopeTally::load(ByteReader& in) {
  if (in.get<std::uint32_t>() != kSlopeFormat) damaged_state("slope");
  SlopeTally tally;
  tally.feature_ = in.get<Index>();
  tally.deviation_ = in.get<double>();
  tally.most_ = in.get<double>();
  tally.favorable_ = in.get<std::int32_t>();
  tally.sizes_.load(in);
  tally.rises_ = in.get<ExactSum>();
  tally.falls_ = in.get<ExactSum>();
  tally.keeping_ = in.get<std::uint8_t>() != 0;
  tally.kept_ = in.get_array<double>();
  bool possible = std::isfinite(tally.deviation_) && tally.deviation_ > 0 &&
                  std::isfinite(tally.most_) && tally.most_ >= 0 && tally.favorable_ >= -1;
  possible = possible &&
             std::ssize(tally.kept_) == (tally.keeping_ ? tally.sizes_.count() : Index{0});
  for (const double size : tally.kept_) possible = possible && size >= 0 && size <= 1;
  if (!possible || tally.kept_.size() > kKeepRows) damaged_state("slope");
  return tally;
}

std::optional<SlopeReport> SlopeTally::report(const AuditOptions& options,
                                              const Exec& exec) const {
  SlopeReport slope;
  slope.rows = sizes_.count();
  if (slope.rows == 0) return std::nullopt;
  slope.deviation = deviation_;
  const Interval mean = keeping_
                            ? kept_mean(sizes_.mean(), kept_, options, exec)
                            : sizes_.interval(0, options.confidence, options.replicates,
                                              exec, options.intervals);
  slope.per_unit = scaled(mean, most_);
  slope.per_deviation = scaled(slope.per_unit, deviation_);
  if (favorable_ >= 0)
    slope.signed_per_unit = most_ * (rises_.value(kUnit) - falls_.value(kUnit)) /
                            static_cast<double>(slope.rows);
  return slope;
}

std::optional<SlopeReport> measure_slope(const Model& model, const Study& study,
                                         const Attribute& attribute,
                                         const AuditOptions& options, const Exec& exec) {
  std::optional<SlopeTally> tally = SlopeTally::of(model, attribute);
  if (!tally) return std::nullopt;
  const Matrix p = all_probabilities(*model.head, study.rows(), model.theta, exec);
  tally->add(model, study.rows(), p, attribute.code, exec);
  return tally->report(options, exec);
}

}  // namespace fmd
