#include "fmd/baselines/reweigh.h"

#include <map>

#include <fmt/format.h>

#include "baselines/box_lp.h"
#include "baselines/post_rows.h"
#include "core/check.h"
#include "core/index.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"

namespace fmd {
namespace {

constexpr const char* kInfluenceWeights = "influence reweighing";

// sum_i h_i (phi_i, 1) over the rows: the gradient of a function whose derivatives by the
// logits are h.
Vector pull_back(const LinearHead& head, const Vector& theta, const Rows& rows,
                 const Vector& h) {
  Vector sum = Vector::Zero(head.parameters());
  Scratch scratch;
  for (Index b = 0; b < block_count(rows.size()); ++b) {
    const FeatureBlock block = rows.block(b, scratch);
    const Matrix part = h.segment(b * kBlockRows, block.rows);
    head.vjp(block, theta, {}, part, sum);
  }
  return sum;
}

// F, and its derivatives by the logits of the validation rows.
struct Fairness {
  double value = 0;
  Vector slope;
};

Fairness fairness_loss(const Rows& rows, const Matrix& z, const Matrix& p,
                       std::span<const std::int32_t> group,
                       const InfluenceWeightsOptions& options) {
  const bool parity = options.fairness == "demographic_parity";
  double count[2] = {0, 0};
  const auto counts = [&](Index i) {
    const std::int32_t g = group[at(rows.row(i))];
    return g >= 0 && (parity || rows.label(i) == options.favorable) ? g : -1;
  };
  for (Index i = 0; i < rows.size(); ++i)
    if (const std::int32_t g = counts(i); g >= 0) count[g] += 1;
  for (Index g = 0; g < 2; ++g)
    if (count[g] == 0)
      throw_empty(kInfluenceWeights, g, parity ? "a label" : "a favourable label");
  Fairness result;
  result.slope = Vector::Zero(rows.size());
  const double toward = options.favorable == 1 ? 1 : -1;  // d p(favourable) / d p_1
  for (Index i = 0; i < rows.size(); ++i) {
    const std::int32_t g = counts(i);
    if (g < 0) continue;
    const double w = (g == 0 ? 1 : -1) / count[g];
    const double row[] = {z(i, 0)};
    result.value += w * (parity ? p(i, options.favorable) : log_loss(row, rows.label(i)));
    result.slope[i] = w * (parity ? toward * p(i, 0) * p(i, 1)
                                  : p(i, 1) - static_cast<double>(options.favorable));
  }
  if (result.value < 0) {
    result.value = -result.value;
    result.slope = -result.slope;
  }
  return result;
}

void validate(const LinearHead& head, const InfluenceWeightsOptions& o) {
  if (head.outputs() != 1) {
    throw Error(ErrorKind::bad_shape,
                fmt::format("{}: needs a model of two classes", kInfluenceWeights));
  }
  if (o.fairness != "equal_opportunity" && o.fairness != "demographic_parity") {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("{}: there is no fairness loss {}", kInfluenceWeights, o.fairness),
        "losses: equal_opportunity, demographic_parity");
  }
  const auto share = [](double x) { return x >= 0 && x <= 1; };
  require_option(share(o.alpha), kInfluenceWeights, "alpha", o.alpha, "in [0, 1]");
  require_option(share(o.beta), kInfluenceWeights, "beta", o.beta, "in [0, 1]");
  require_option(share(o.gamma), kInfluenceWeights, "gamma", o.gamma, "in [0, 1]");
  require_option(o.l2 >= 0, kInfluenceWeights, "l2", o.l2, ">= 0");
  require_option(o.favorable == 0 || o.favorable == 1, kInfluenceWeights, "favorable",
                 o.favorable, "0 or 1");
}

double below_zero(const Vector& v) { return v.cwiseMin(0.0).sum(); }

}  // namespace

std::vector<float> reweighing_weights(std::span<const std::int32_t> y,
                                      std::span<const std::int32_t> group) {
  require_size("reweighing", "group", std::ssize(group), std::ssize(y));
  std::map<std::int32_t, double> by_label, by_group;
  std::map<std::pair<std::int32_t, std::int32_t>, double> cell;
  double n = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] < 0 || group[i] < 0) continue;
    n += 1;
    by_label[y[i]] += 1;
    by_group[group[i]] += 1;
    cell[{group[i], y[i]}] += 1;
  }
  if (n == 0) {
    throw Error(ErrorKind::bad_data, "reweighing: no row has both label and group");
  }
  std::vector<float> weight(y.size(), 1.0F);
  for (std::size_t i = 0; i < y.size(); ++i)
    if (y[i] >= 0 && group[i] >= 0)
      weight[i] = static_cast<float>(by_label[y[i]] * by_group[group[i]] /
                                     (n * cell[{group[i], y[i]}]));
  return weight;
}

InfluenceWeights influence_weights(const LinearHead& head, const Vector& theta,
                                   const Rows& train, const Rows& validation,
                                   std::span<const std::int32_t> group,
                                   const InfluenceWeightsOptions& options,
                                   const Exec& exec) {
  validate(head, options);
  require_size(kInfluenceWeights, "theta", theta.size(), head.parameters());
  require_size(kInfluenceWeights, "group", std::ssize(group), validation.X->rows());
  const Matrix z = all_logits(head, validation, theta, exec);
  const Matrix p = all_probabilities(head, validation, theta, exec);
  const Fairness F = fairness_loss(validation, z, p, group, options);
  Vector miss(validation.size());
  for (Index i = 0; i < validation.size(); ++i) miss[i] = p(i, 1) - validation.label(i);

  const auto n = static_cast<double>(train.size());
  const bool formed = head.parameters() <= kMostDense;
  const auto inverse =
      make_inverse_hessian(head, train, theta,
                           {.solver = formed ? Solver::cholesky : Solver::cg,
                            .l2 = options.l2,
                            .tolerance = 1e-10},
                           exec);
  Matrix sides(head.parameters(), 2);
  sides.col(0) = pull_back(head, theta, validation, F.slope);
  sides.col(1) = pull_back(head, theta, validation, miss);
  const Matrix v = inverse->apply(sides).x / n;  // of the summed Hessian
  const Matrix q = all_probabilities(head, train, theta, exec);
  InfluenceWeights result;
  result.fairness = all_jvp(head, train, theta, v.col(0), exec);
  result.utility = all_jvp(head, train, theta, v.col(1), exec);
  for (Index i = 0; i < train.size(); ++i) {
    const double g = train.weight_of(i) * (q(i, 1) - train.label(i));
    result.fairness[i] *= g;
    result.utility[i] *= g;
  }
  result.fairness_loss = F.value;

  BoxSolution solved;
  const Vector ones = Vector::Ones(train.size());
  if (F.value < -below_zero(result.fairness)) {
    solved = solve_box({ones, result.fairness, result.utility, -options.beta * F.value,
                        options.gamma * below_zero(result.utility)});
    result.undone = solved.feasible;
  }
  if (!solved.feasible)
    solved = solve_box({result.fairness, result.utility, ones, 0, options.alpha * n});
  result.removed = solved.x.sum();
  for (Index i = 0; i < train.size(); ++i)
    result.weight.push_back(static_cast<float>(1 - solved.x[i]));
  return result;
}

}  // namespace fmd
