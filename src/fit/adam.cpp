#include "fmd/fit/adam.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/check.h"
#include "core/sums.h"
#include "fit/adam_rule.h"
#include "fit/training_rows.h"
#include "fmd/core/rng.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/passes.h"
#include "model/block_loss.h"

namespace fmd {
namespace {

// Rows whose gradient one thread computes. Like a block, this number is part of the
// result's definition.
constexpr Index kPieceRows = 128;

void validate(const Head& head, const Rows& rows, const AdamOptions& o,
              const Vector& start) {
  require_option(o.l2 >= 0 || o.l2 == -1, "train", "l2", o.l2, ">= 0, or -1 for 1/n");
  require_option(o.epochs >= 1, "train", "epochs", o.epochs, ">= 1");
  require_option(o.batch >= 1, "train", "batch", o.batch, ">= 1");
  require_option(o.learning_rate > 0 && std::isfinite(o.learning_rate), "train",
                 "learning_rate", o.learning_rate, "> 0");
  require_option(o.validation >= 0 && o.validation <= 0.5, "train", "validation",
                 o.validation, "from 0 to .5");
  require_option(o.patience >= 1, "train", "patience", o.patience, ">= 1");
  require_option(o.watch_steps >= 0, "train", "watch_steps", o.watch_steps, ">= 0");
  require_training(head, rows, start);
}

// Row numbers to learn from and to stop by.
struct Parts {
  std::vector<Index> training, validation;
};

Parts draw_parts(const Rows& rows, double share, std::uint64_t seed) {
  Rng rng(seed, "validation rows");
  std::vector<Index> order = permutation(rows.size(), rng);
  for (Index& entry : order) entry = rows.row(entry);
  const auto held = static_cast<Index>(share * static_cast<double>(rows.size()));
  Parts parts{{order.begin() + held, order.end()}, {order.begin(), order.begin() + held}};
  std::sort(parts.validation.begin(), parts.validation.end());
  std::sort(parts.training.begin(), parts.training.end());
  return parts;
}

double total_weight(const Rows& rows, const std::vector<Index>& numbers) {
  double total = 0;
  for (const Index row : numbers)
    total += rows.weight.empty() ? 1 : rows.weight[static_cast<std::size_t>(row)];
  return total;
}

// Sum of w_i grad L_i over some row numbers.
Vector gradient_sum(const Head& head, const Rows& rows, std::span<const Index> numbers,
                    const Vector& theta, const Exec& exec) {
  const auto count = static_cast<Index>(numbers.size());
  return reduce<Sums>((count + kPieceRows - 1) / kPieceRows,
                      [&] { return Sums{Vector::Zero(head.parameters())}; },
                      [&](Sums& sums, Index piece) {
                        const Index first = piece * kPieceRows;
                        const Rows part{rows.X, rows.y, rows.weight,
                                        numbers.subspan(static_cast<std::size_t>(first),
                                                        static_cast<std::size_t>(std::min(
                                                            kPieceRows, count - first)))};
                        Scratch scratch;
                        Matrix z;
                        Tape tape;
                        const FeatureBlock block = part.X->gather(part.subset, scratch);
                        head.logits(block, theta, z, &tape);
                        (void)block_loss_gradient(part, 0, z);
                        head.vjp(block, theta, tape, z, sums.values);
                      },
                      exec)
      .values;
}

// Mean log loss over some rows, weighted.
double mean_loss(const Head& head, const Rows& rows, const Vector& theta,
                 const Exec& exec) {
  const Vector sum = reduce<Sums>(
                         block_count(rows.size()), [] { return Sums{Vector::Zero(2)}; },
                         [&](Sums& sums, Index b) {
                           Scratch scratch;
                           Matrix z;
                           head.logits(rows.block(b, scratch), theta, z);
                           for (Index i = 0; i < z.rows(); ++i)
                             sums.values[1] += rows.weight_of(b * kBlockRows + i);
                           sums.values[0] += block_loss_gradient(rows, b * kBlockRows, z);
                         },
                         exec)
                         .values;
  return sum[0] / sum[1];
}

// One pass over the rows in a new order; false when the watcher ended it.
bool run_epoch(const Head& head, const Rows& rows, const std::vector<Index>& numbers,
               const AdamOptions& options, double l2, int epoch, const Exec& exec,
               AdamRule& adam, Vector& theta) {
  Rng rng(exec.seed, "minibatches", static_cast<std::uint64_t>(epoch));
  std::vector<Index> order = permutation(static_cast<Index>(numbers.size()), rng);
  for (Index& entry : order) entry = numbers[static_cast<std::size_t>(entry)];
  const auto batch = static_cast<std::size_t>(options.batch);
  for (std::size_t first = 0; first < order.size(); first += batch) {
    const std::size_t count = std::min(batch, order.size() - first);
    const std::span<const Index> some(order.data() + first, count);
    Vector gradient = gradient_sum(head, rows, some, theta, exec);
    gradient /= static_cast<double>(count);
    gradient += ridge_gradient(head, theta, l2);
    adam.step(gradient, options.learning_rate, theta);
    if (options.watch && options.watch_steps > 0 &&
        adam.steps() % options.watch_steps == 0 && !options.watch(adam.steps(), theta))
      return false;
  }
  return true;
}

}  // namespace

Vector initial_theta(const Head& head, std::uint64_t seed) {
  const std::vector<HeadLayer> layers = layers_of(head);
  Vector theta = Vector::Zero(head.parameters());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    Rng rng(seed, "initial weights", l);
    const auto& [start, layer] = layers[l];
    const double size = std::sqrt((l + 1 == layers.size() ? 1.0 : 2.0) /
                                  static_cast<double>(std::max<Index>(1, layer.inputs())));
    for (Index k = 0; k < layer.outputs(); ++k)
      for (Index j = 0; j < layer.inputs(); ++j)
        if (const Index place = layer.weight(k, j); place >= 0)
          theta[start + place] = size * rng.normal();
  }
  return theta;
}

AdamResult train_adam(const Head& head, const Rows& rows, const AdamOptions& options,
                      const Exec& exec, const Vector& start) {
  validate(head, rows, options, start);
  const double l2 = options.l2 >= 0 ? options.l2 : 1 / static_cast<double>(rows.size());
  const Parts parts = draw_parts(rows, options.validation, exec.seed);
  const Rows held{rows.X, rows.y, rows.weight, parts.validation};
  const bool stops = total_weight(rows, parts.validation) > 0;
  Vector theta = start.size() > 0 ? start : initial_theta(head, exec.seed);
  const double first_gradient = objective(head, rows, theta, l2, 0, exec).gradient.norm();

  AdamResult result;
  AdamSummary& s = result.summary;
  s.l2 = l2;
  s.validation_rows = static_cast<Index>(parts.validation.size());
  s.validation_loss =
      stops ? mean_loss(head, held, theta, exec) : std::numeric_limits<double>::quiet_NaN();
  s.status = AdamStatus::all_epochs;
  result.theta = theta;
  AdamRule adam(theta.size());
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    exec.report("training", epoch - 1, options.epochs);
    const bool goes_on =
        run_epoch(head, rows, parts.training, options, l2, epoch, exec, adam, theta);
    s.epochs = epoch;
    if (!goes_on && theta.allFinite()) {
      s.status = AdamStatus::told_to_stop;
      s.best_epoch = epoch;
      if (stops) s.validation_loss = mean_loss(head, held, theta, exec);
      result.theta = theta;
      break;
    }
    const double loss = stops ? mean_loss(head, held, theta, exec) : 0;
    if (!std::isfinite(loss) || !theta.allFinite()) {
      s.status = AdamStatus::diverged;
      break;
    }
    if (!stops || loss < s.validation_loss) {
      s.best_epoch = epoch;
      if (stops) s.validation_loss = loss;
      result.theta = theta;
    } else if (epoch - s.best_epoch >= options.patience) {
      s.status = AdamStatus::stopped_early;
      break;
    }
  }
  exec.report("training", options.epochs, options.epochs);
  const Objective F = objective(head, rows, result.theta, l2, 0, exec);
  s.objective = F.value;
  s.relative_gradient = first_gradient > 0 ? F.gradient.norm() / first_gradient : 0;
  return result;
}

}  // namespace fmd
