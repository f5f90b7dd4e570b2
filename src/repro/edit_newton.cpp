#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/influence/influence.h"
#include "fmd/influence/ranking.h"
#include "fmd/unlearn/newton.h"
#include "repro/edits.h"

namespace fmd::repro {
namespace {

const LinearHead& linear(const Stage& stage) {
  if (const auto* head = dynamic_cast<const LinearHead*>(stage.head.get())) return *head;
  throw Error(ErrorKind::unsupported, "reproduce: this row edits the last layer alone");
}

}  // namespace

std::vector<double> row_influence(const Stage& stage, const std::string& measure,
                                  const Exec& exec) {
  const auto bias = make_measure(measure);
  BiasTarget target{bias.get(), {}};
  if (bias->on_pairs()) {
    target.data.pairs = &stage.edit.pairs.sets.front();
  } else {
    target.data.rows = stage.edit.rows.rows();
    target.data.group = stage.edit.group;
  }
  InfluenceOptions options;
  options.curvature.l2 = stage.l2;
  const InfluenceResult found =
      influence(linear(stage), stage.train.rows(), stage.theta, {target}, options, exec);
  std::vector<double> change(static_cast<std::size_t>(found.change.rows()));
  for (std::size_t i = 0; i < change.size(); ++i)
    change[i] = found.change(static_cast<Index>(i), 0);
  return change;
}

NewtonDirection remove_direction(const Stage& stage, const Settings& settings,
                                 const Exec& exec) {
  const Stopwatch start;
  const LinearHead& head = linear(stage);
  const Rows train = stage.train.rows();
  const std::string measure = settings.word("measure");
  const std::vector<double> change =
      row_influence(stage, measure.empty() ? "co" : measure, exec);
  const std::vector<Index> harmful = most_harmful(change, settings.count("K"));
  const bool replace = settings.word("equation") == "8";
  CurvatureOptions curvature;
  curvature.l2 = stage.l2;
  const auto inverse = make_inverse_hessian(head, train, stage.theta, curvature, exec);
  NewtonDirection direction{.step = {},
                            .seconds = 0,
                            .cpu = 0,
                            .rows = static_cast<double>(train.size()),
                            .used = std::ssize(harmful)};
  Vector g;
  if (replace) {
    const OwnedPairs pairs = stage.replaced(harmful);
    g = unlearn_gradient(head, stage.theta, pairs.sets, exec);
  } else {
    g = unlearn_gradient(head, stage.theta, Rows{train.X, train.y, {}, harmful}, exec);
  }
  direction.step =
      newton_step(stage.theta, g, *inverse, {.step_scale = 1}).theta - stage.theta;
  direction.seconds = start.seconds();
  direction.cpu = start.cpu();
  return direction;
}

NewtonDirection pairs_direction(const Stage& stage, bool external, const Exec& exec) {
  const Stopwatch start;
  const OwnedRows both = external ? both_sides(stage.edit.pairs.sets.front()) : OwnedRows();
  const Rows rows = external ? both.rows() : stage.train.rows();
  CurvatureOptions curvature;
  curvature.l2 = stage.l2;
  curvature.damping.external = external;
  if (!stage.head->linear()) {  // a step that is scaled anyway needs no more digits
    curvature.tolerance = 1e-3;
    curvature.max_iterations = 100;
  }
  const auto inverse =
      make_inverse_hessian(*stage.head, rows, stage.theta, curvature, exec);
  const Vector g = unlearn_gradient(*stage.head, stage.theta, stage.edit.pairs.sets, exec);
  const Vector theta = newton_step(stage.theta, g, *inverse, {.step_scale = 1}).theta;
  return {theta - stage.theta, start.seconds(), start.cpu(),
          static_cast<double>(rows.size()), stage.edit.pairs.sets.front().size()};
}

Outcome take_step(const Stage& stage, const NewtonDirection& direction, bool printed,
                  const Rule& rule, const Exec& exec) {
  Outcome outcome{.theta = stage.theta + direction.step,
                  .seconds = direction.seconds,
                  .cpu = direction.cpu,
                  .choosing = 0,
                  .labels = true,
                  .rows = direction.used,
                  .chosen = "s = 1"};
  if (printed) return outcome;
  const Stopwatch start;
  std::vector<Candidate> candidates;
  for (int power = -16; power <= 16; ++power) {
    const double s = std::ldexp(1 / direction.rows, power);
    candidates.push_back(
        {stage.theta + s * direction.step, fmt::format("s = 2^{}/n = {:.3g}", power, s)});
  }
  const std::size_t best = choose(stage, candidates, rule, exec);
  outcome.theta = candidates[best].theta;
  outcome.chosen = candidates[best].setting;
  outcome.choosing = start.seconds();
  return outcome;
}

}  // namespace fmd::repro
