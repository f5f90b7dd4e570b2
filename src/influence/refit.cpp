#include "fmd/influence/refit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "fmd/fit/adam.h"
#include "fmd/fit/train.h"
#include "fmd/influence/ranking.h"
#include "fmd/model/passes.h"

namespace fmd {
namespace {

// The weights of the rows of X, with 0 for the given entries.
std::vector<float> weights_without(const Rows& train, std::span<const Index> entries) {
  std::vector<float> weight(train.weight.begin(), train.weight.end());
  if (weight.empty()) weight.assign(static_cast<std::size_t>(train.X->rows()), 1.0F);
  for (const Index entry : entries) {
    require_option(entry >= 0 && entry < train.size(), "refit", "entry", entry,
                   fmt::format("from 0 to {}", train.size() - 1));
    weight[static_cast<std::size_t>(train.row(entry))] = 0;
  }
  return weight;
}

double mean_over(const Rows& train, double rows_in_mean) {
  return rows_in_mean > 0 ? rows_in_mean : static_cast<double>(train.size());
}

double predicted_change(std::span<const double> change, std::span<const Index> entries) {
  double sum = 0;
  for (const Index entry : entries) sum += change[static_cast<std::size_t>(entry)];
  return sum;
}

// As many rows as are predicted to lower the gap by a tenth, at least one.
Index rows_of_a_round(const std::vector<double>& change, const std::vector<Index>& ranked,
                      double gap) {
  double sum = 0;
  Index count = 0;
  for (const Index entry : ranked) {
    sum += change[static_cast<std::size_t>(entry)];
    ++count;
    if (sum < -0.1 * gap) break;
  }
  return count;
}

// F of train_adam is a mean over the number of its rows, which may differ from n. The ridge
// is scaled so that the whole F stays in proportion.
Vector train_on(const Head& head, const Rows& kept, const Vector& theta,
                const RefitOptions& options, const Exec& exec) {
  const double share =
      static_cast<double>(kept.size()) / mean_over(kept, options.rows_in_mean);
  return train_adam(head, kept,
                    {.l2 = options.l2 / share,
                     .epochs = options.epochs,
                     .learning_rate = options.learning_rate,
                     .validation = 0},
                    exec, theta)
      .theta;
}

}  // namespace

Vector refit_without(const Head& head, const Rows& train, const Vector& theta,
                     std::span<const Index> entries, const RefitOptions& options,
                     const Exec& exec, bool* converged) {
  const std::vector<float> weight = weights_without(train, entries);
  const Rows kept{train.X, train.y, weight, train.subset};
  const LinearHead* linear = head.as_linear();
  if (linear == nullptr) {
    if (converged) *converged = false;
    return train_on(head, kept, theta, options, exec);
  }
  TrainResult fitted = train_linear(*linear, kept,
                                    {.l2 = options.l2,
                                     .relative_gradient = options.relative_gradient,
                                     .rows_in_mean = mean_over(train, options.rows_in_mean),
                                     .max_dense = options.max_dense},
                                    exec, theta);
  if (converged) *converged = fitted.summary.status == TrainStatus::converged;
  return std::move(fitted.theta);
}

RemovalCheck check_removal(const Head& head, const Rows& train, const Vector& theta,
                           const BiasTarget& target, std::span<const double> change,
                           std::span<const Index> entries, const RefitOptions& options,
                           const Exec& exec) {
  require_size("refit", "change", static_cast<Index>(change.size()), train.size());
  const double n = mean_over(train, options.rows_in_mean);
  // The start is the optimum with all rows. From elsewhere, the way to the optimum would be
  // counted too.
  bool base_converged = false;
  const Vector base = refit_without(head, train, theta, {}, options, exec, &base_converged);
  const double before = gap_of(target, head, base, false, exec).value;
  RemovalCheck check;
  check.rows = static_cast<Index>(entries.size());
  check.predicted = predicted_change(change, entries);
  check.capped = check.predicted < -before;
  if (check.capped) check.predicted = -before;

  const std::vector<float> weight = weights_without(train, entries);
  const Rows kept{train.X, train.y, weight, train.subset};
  const bool exact = head.linear() && head.parameters() <= options.max_dense;
  const auto inverse =
      make_inverse_hessian(head, kept, base,
                           {.solver = exact ? Solver::cholesky : Solver::automatic,
                            .l2 = options.l2,
                            .rows_in_mean = n,
                            .max_dense = options.max_dense},
                           exec);
  Vector gradient = objective(head, kept, base, options.l2, n, exec).gradient;
  // A network is not at an optimum. Its gradient with all rows does not come from the rows
  // that are left out.
  if (!head.linear())
    gradient -= objective(head, train, base, options.l2, n, exec).gradient;
  const Vector step = inverse->apply(gradient).x.col(0);
  check.newton = gap_of(target, head, base - step, false, exec).value - before;

  const Vector refitted = refit_without(head, train, head.linear() ? base : theta, entries,
                                        options, exec, &check.converged);
  check.converged = check.converged && base_converged;
  check.fine_tuned = !head.linear();
  check.refitted = gap_of(target, head, refitted, false, exec).value - before;
  return check;
}

Removal remove_in_rounds(const LinearHead& head, const Rows& train, const Vector& theta,
                         const BiasTarget& target, const RemovalOptions& options,
                         const Exec& exec) {
  require_option(options.count > 0, "removal", "count", options.count, "> 0");
  require_option(options.per_round >= 0, "removal", "per_round", options.per_round, ">= 0");
  const RefitOptions refit{.l2 = options.curvature.l2,
                           .rows_in_mean = options.curvature.rows_in_mean,
                           .max_dense = options.curvature.max_dense};
  Removal removal;
  removal.theta = refit_without(head, train, theta, {}, refit, exec);
  removal.before = gap_of(target, head, removal.theta, false, exec).value;
  removal.after = removal.before;
  InfluenceOptions each{options.curvature};
  each.curvature.rows_in_mean = mean_over(train, options.curvature.rows_in_mean);
  while (static_cast<Index>(removal.entries.size()) < options.count) {
    const std::vector<float> weight = weights_without(train, removal.entries);
    const Rows kept{train.X, train.y, weight, train.subset};
    const InfluenceResult now = influence(head, kept, removal.theta, {target}, each, exec);
    const std::vector<double> change(now.change.data(),
                                     now.change.data() + now.change.size());
    const Index left = options.count - static_cast<Index>(removal.entries.size());
    std::vector<Index> ranked = most_harmful(change, left);
    const Index most = options.per_round > 0
                           ? options.per_round
                           : rows_of_a_round(change, ranked, removal.after);
    ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(most)));
    if (ranked.empty()) break;
    RemovalCheck round{.rows = static_cast<Index>(ranked.size())};
    round.predicted = std::max(predicted_change(change, ranked), -removal.after);
    removal.entries.insert(removal.entries.end(), ranked.begin(), ranked.end());
    removal.theta = refit_without(head, train, removal.theta, removal.entries, refit, exec,
                                  &round.converged);
    const double gap = gap_of(target, head, removal.theta, false, exec).value;
    round.refitted = gap - removal.after;
    removal.after = gap;
    removal.rounds.push_back(round);
    if (round.refitted > 0.5 * round.predicted) {
      removal.stopped = true;
      break;
    }
  }
  return removal;
}

}  // namespace fmd
