#include "fmd/unlearn/simple.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/value_and_vector.h"
#include "fmd/core/accumulator.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "unlearn/delta.h"

namespace fmd {
namespace {

void require_rows(std::string_view where, const Head& head, const Vector& theta,
                  const Rows& rows) {
  require_size(where, "theta", theta.size(), head.parameters());
  if (rows.X == nullptr || rows.size() == 0)
    throw Error(ErrorKind::bad_data, fmt::format("{}: there are no rows", where),
                "give at least one row");
  require_size(where, "a row", rows.X->cols(), head.inputs());
}

// The place of an output's intercept in the layer's parameters.
Index require_intercept(std::string_view where, const LinearHead& layer, Index output) {
  const Index place = layer.intercept(output);
  if (place < 0)
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: the model's file has no intercept to change", where),
                "use a method that changes the weights");
  return place;
}

// Weighted means of all features.
Vector feature_means(const Rows& rows, Index cols, const Exec& exec) {
  const auto sum = reduce<ValueAndVector>(
      block_count(rows.size()), [&] { return empty_sum(cols); },
      [&](ValueAndVector& state, Index b) {
        Scratch scratch;
        const FeatureBlock block = rows.block(b, scratch);
        for (Index i = 0; i < block.rows; ++i) {
          const double w = rows.weight_of(b * kBlockRows + i);
          state.value += w;
          for_each_entry(block, i,
                         [&](Index j, double value) { state.vector[j] += w * value; });
        }
      },
      exec);
  if (!(sum.value > 0))
    throw Error(ErrorKind::bad_data, "average_features: all rows have weight 0",
                "give at least one row a weight > 0");
  return sum.vector / sum.value;
}

// d/d beta of the mean log loss of beta z; grows with beta, since the loss is convex.
double loss_slope(const Matrix& z, const Rows& rows, double beta, const Exec& exec) {
  return reduce<ValueAndVector>(
             block_count(z.rows()), [] { return empty_sum(0); },
             [&](ValueAndVector& state, Index b) {
               Vector scaled(z.cols()), dz(z.cols());
               const auto classes = static_cast<std::size_t>(z.cols());
               const Index last = std::min(z.rows(), (b + 1) * kBlockRows);
               for (Index i = b * kBlockRows; i < last; ++i) {
                 if (rows.label(i) < 0) continue;
                 scaled = beta * z.row(i).transpose();
                 log_loss_gradient({scaled.data(), classes}, rows.label(i),
                                   {dz.data(), classes});
                 state.value += rows.weight_of(i) * dz.dot(z.row(i).transpose());
               }
             },
             exec)
      .value;
}

// What must be added to the intercept of class cls so that entry i is decided for it.
double missing_shift(const Matrix& z, Index i, double threshold_logit, int cls) {
  if (z.cols() == 1)
    return cls == 1 ? threshold_logit - z(i, 0) : z(i, 0) - threshold_logit;
  if (z.cols() == 2)
    return z(i, 1 - cls) - z(i, cls) + (cls == 1 ? threshold_logit : -threshold_logit);
  double rival = -std::numeric_limits<double>::infinity();
  for (Index k = 0; k < z.cols(); ++k)
    if (k != cls) rival = std::max(rival, z(i, k));
  return rival - z(i, cls);
}

// A shift above exactly `count` of the sorted margins, or as near to that as ties allow.
double shift_between(const std::vector<double>& margin, Index count) {
  const auto n = static_cast<Index>(margin.size());
  const auto at = [&](Index i) { return margin[static_cast<std::size_t>(i)]; };
  const auto splits = [&](Index k) {
    return k == 0 || k == n || (k > 0 && k < n && at(k - 1) < at(k));
  };
  Index k = count;
  for (Index away = 0;; ++away) {
    if (count - away >= 0 && splits(count - away)) {
      k = count - away;
      break;
    }
    if (count + away <= n && splits(count + away)) {
      k = count + away;
      break;
    }
  }
  const double low = k == 0 ? at(0) - 2 : at(k - 1);
  const double high = k == n ? at(n - 1) + 2 : at(k);
  return low < 0 && 0 < high ? 0 : low + (high - low) / 2;
}

}  // namespace

Vector average_features(const Head& head, const Vector& theta, const Rows& rows,
                        std::span<const Index> features, const Exec& exec) {
  require_rows("average_features", head, theta, rows);
  for (const Index j : features)
    require_option(j >= 0 && j < head.inputs(), "average_features", "feature", j,
                   fmt::format("in 0 .. {}", head.inputs() - 1));
  const Vector mean = feature_means(rows, head.inputs(), exec);
  Vector result = theta;
  const LinearHead first = layers_of(head).front().head;
  for (Index k = 0; k < first.outputs(); ++k)
    for (const Index j : features) {
      const Index place = first.weight(k, j);
      if (place < 0) continue;
      result[require_intercept("average_features", first, k)] += result[place] * mean[j];
      result[place] = 0;
    }
  return result;
}

Vector temper(const Head& head, const Vector& theta, double temperature) {
  require_size("temper", "theta", theta.size(), head.parameters());
  require_option(temperature > 0 && std::isfinite(temperature), "temper", "temperature",
                 temperature, "> 0");
  Vector result = theta;
  result.tail(theta.size() - layers_of(head).back().start) /= temperature;
  return result;
}

double best_temperature(const Head& head, const Vector& theta, const Rows& rows,
                        const Exec& exec) {
  require_rows("best_temperature", head, theta, rows);
  bool labelled = false;
  for (Index i = 0; i < rows.size() && !labelled; ++i) labelled = rows.label(i) >= 0;
  if (!labelled)
    throw Error(ErrorKind::bad_data, "best_temperature: no row has a label",
                "give rows with known labels");
  const Matrix z = all_logits(head, rows, theta, exec);
  double low = 0.05, high = 20;  // of beta = 1 / T
  if (loss_slope(z, rows, low, exec) >= 0) return 1 / low;
  if (loss_slope(z, rows, high, exec) <= 0) return 1 / high;
  while (high / low > 1 + 1e-9) {
    const double middle = std::sqrt(low * high);
    (loss_slope(z, rows, middle, exec) < 0 ? low : high) = middle;
  }
  return 1 / std::sqrt(low * high);
}

Vector shift_to_rate(const Head& head, const Vector& theta, const Rows& rows,
                     double threshold, int cls, double rate, const Exec& exec) {
  require_rows("shift_to_rate", head, theta, rows);
  const auto classes = static_cast<int>(classes_of(head.outputs()));
  require_option(cls >= 0 && cls < classes, "shift_to_rate", "cls", cls,
                 fmt::format("in 0 .. {}", classes - 1));
  require_option(threshold > 0 && threshold < 1, "shift_to_rate", "threshold", threshold,
                 "in (0, 1)");
  require_option(rate >= 0 && rate <= 1, "shift_to_rate", "rate", rate, "in [0, 1]");
  const Matrix z = all_logits(head, rows, theta, exec);
  const double threshold_logit = std::log(threshold / (1 - threshold));
  std::vector<double> margin(static_cast<std::size_t>(z.rows()));
  for (Index i = 0; i < z.rows(); ++i)
    margin[static_cast<std::size_t>(i)] = missing_shift(z, i, threshold_logit, cls);
  std::sort(margin.begin(), margin.end());
  const auto count = static_cast<Index>(std::llround(rate * static_cast<double>(z.rows())));
  const double shift = shift_between(margin, count);
  const Index output = head.outputs() == 1 ? 0 : cls;
  const HeadLayer last = layers_of(head).back();
  Vector result = theta;
  result[last.start + require_intercept("shift_to_rate", last.head, output)] +=
      head.outputs() == 1 && cls == 0 ? -shift : shift;
  return result;
}

}  // namespace fmd
