#include "repro/hessian_refresh.h"

#include <cmath>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/unlearn/newton.h"
#include "repro/coloured_mnist.h"

namespace fmd::repro {
namespace {

// Eq. 9 in parts, one step of scale s after the other. H is that of the start or, where
// refreshed, a new one before each part.
Vector steps_in_parts(const Stage& stage, const Rows& curvature_rows, Index parts, double s,
                      bool refreshed, const InverseHessian& first, const Exec& exec) {
  Vector theta = stage.problem.theta;
  const PairSet& all = stage.edit.pairs.sets.front();
  CurvatureOptions curvature;
  curvature.damping.external = true;
  for (Index part = 0; part < parts; ++part) {
    PairSet some = all;
    for (Index i = 0; i < all.size(); ++i)
      if (i * parts / all.size() != part) some.weight[at(i)] = 0;
    const Vector g = unlearn_gradient(*stage.head, theta, {&some, 1}, exec);
    if (!g.allFinite()) break;
    if (!refreshed || part == 0) {
      theta = newton_step(theta, g, first, {.step_scale = s}).theta;
      continue;
    }
    const auto inverse =
        make_inverse_hessian(*stage.head, curvature_rows, theta, curvature, exec);
    theta = newton_step(theta, g, *inverse, {.step_scale = s}).theta;
  }
  return theta;
}

}  // namespace

UnitResult run_hessian(World& world, const Unit& unit, const Exec& exec) {
  ColouredMnist colours(world, unit, exec);
  UnitResult result;
  result.rows = run_rows(
      unit, [&](Index layers) -> const Stage& { return colours.stage(layers); },
      [&](const SpecRow& row, const Settings& settings) {
        const Stage& stage = colours.stage(1);
        const bool refreshed = settings.word("inverse") == "refreshed";
        const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
        CurvatureOptions curvature;
        curvature.damping.external = true;
        const Stopwatch start;
        const auto first = make_inverse_hessian(*stage.head, both.rows(),
                                                stage.problem.theta, curvature, exec);
        const double factor_seconds = start.seconds(), factor_cpu = start.cpu();
        std::vector<EditCandidate> candidates;
        for (const double power : settings.list("powers")) {
          const Stopwatch begun;
          const double s =
              std::ldexp(1 / static_cast<double>(both.y.size()), static_cast<int>(power));
          const Vector theta = steps_in_parts(stage, both.rows(), settings.count("parts"),
                                              s, refreshed, *first, exec);
          candidates.push_back(
              {theta, fmt::format("s = 2^{:.0f}/n", power), begun.seconds(), begun.cpu()});
        }
        const std::size_t best = choose_edit(stage, candidates, rule_of(settings), exec);
        Outcome outcome;
        outcome.theta = candidates[best].theta;
        outcome.chosen = candidates[best].setting;
        outcome.seconds = factor_seconds + candidates[best].seconds;
        outcome.cpu = factor_cpu + candidates[best].cpu;
        outcome.choosing = start.seconds();
        outcome.labels = true;
        outcome.rows = stage.edit.pairs.c.X->rows();
        return report(row.id, stage, outcome, exec);
      },
      exec);
  result.facts = colours.facts();
  return result;
}

}  // namespace fmd::repro
