#include "repro/edits.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fmd/baselines/dfr.h"
#include "fmd/core/error.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/fit/adam.h"
#include "fmd/influence/influence.h"
#include "fmd/influence/ranking.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "fmd/repair/controls.h"
#include "fmd/unlearn/solve.h"
#include "fmd/unlearn/solve_adam.h"

namespace fmd::repro {
namespace {

const LinearHead& linear(const Stage& stage) {
  if (const LinearHead* head = stage.head->as_linear()) return *head;
  throw Error(ErrorKind::unsupported, "reproduce: this row edits the last layer alone");
}

// Newton's method on the shift alone, for logits z + shift. A small ridge serves the
// direction that a softmax does not see.
Vector best_shift(const Matrix& z, const std::vector<std::int32_t>& y) {
  const Index outputs = z.cols();
  Vector shift = Vector::Zero(outputs);
  for (int step = 0; step < 50; ++step) {
    Vector g = Vector::Zero(outputs);
    Matrix H = 1e-9 * Matrix::Identity(outputs, outputs);
    Vector p(classes_of(outputs)), row(outputs);
    for (Index i = 0; i < z.rows(); ++i) {
      row = z.row(i).transpose() + shift;
      const auto size = static_cast<std::size_t>(outputs);
      probabilities({row.data(), size}, {p.data(), static_cast<std::size_t>(p.size())});
      const auto label = y[static_cast<std::size_t>(i)];
      if (outputs == 1) {
        g[0] += p[1] - label;
        H(0, 0) += p[0] * p[1];
        continue;
      }
      g += p;
      g[label] -= 1;
      H -= p * p.transpose();
      H.diagonal() += p;
    }
    if (g.norm() < 1e-9 * static_cast<double>(z.rows())) break;
    Vector move = g;
    if (!solve_spd(H, move)) break;
    const double size = move.norm();
    shift -= size > 2 ? Vector(move * (2 / size)) : move;
  }
  return shift;
}

SolveOptions options_of(const Settings& settings, double lambda) {
  SolveOptions options;
  options.lambda = lambda;
  options.anchor = settings.number("anchor");
  options.fit = settings.number("fit");
  options.mu = settings.has("mu") ? settings.number("mu") : 0;
  if (settings.has("tolerance")) options.tolerance = settings.number("tolerance");
  if (settings.has("max_iterations"))
    options.max_iterations = static_cast<int>(settings.count("max_iterations"));
  return options;
}

Vector solve_once(const Stage& stage, const Settings& settings, double lambda,
                  const Exec& exec, const Vector& start) {
  const HeadPart& edit = stage.problem.edit;
  const SolveOptions options = options_of(settings, lambda);
  if (settings.word("by") != "adam")
    return solve(*stage.head, stage.problem.theta, edit.rows, edit.pairs, options, exec,
                 start)
        .theta;
  SolveAdamOptions adam;
  adam.epochs = static_cast<int>(settings.count("epochs"));
  adam.batch = settings.count("batch");
  adam.learning_rate = settings.number("learning_rate");
  return solve_adam(*stage.head, stage.problem.theta, edit.rows, edit.pairs, options, adam,
                    stage.problem.redraw, exec)
      .theta;
}

}  // namespace

// ---- Newton steps

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
  options.curvature.l2 = stage.problem.l2;
  const InfluenceResult found = influence(linear(stage), stage.train.rows(),
                                          stage.problem.theta, {target}, options, exec);
  std::vector<double> change(static_cast<std::size_t>(found.change.rows()));
  for (std::size_t i = 0; i < change.size(); ++i)
    change[i] = found.change(static_cast<Index>(i), 0);
  return change;
}

TimedDirection remove_direction(const Stage& stage, const Settings& settings,
                                const Exec& exec) {
  const Stopwatch start;
  const LinearHead& head = linear(stage);
  const Rows train = stage.train.rows();
  const std::string measure = settings.word("measure");
  const std::vector<double> change =
      row_influence(stage, measure.empty() ? "co" : measure, exec);
  const std::vector<Index> harmful = most_harmful(change, settings.count("K"));
  CurvatureOptions curvature;
  curvature.l2 = stage.problem.l2;
  const auto inverse =
      make_inverse_hessian(head, train, stage.problem.theta, curvature, exec);
  TimedDirection found{.direction = {},
                       .seconds = 0,
                       .cpu = 0,
                       .rows = static_cast<double>(train.size()),
                       .used = std::ssize(harmful)};
  Vector g;
  if (settings.word("equation") == "8")
    g = unlearn_gradient(head, stage.problem.theta,
                         stage.problem.replaced(harmful, exec).sets, exec);
  else
    g = unlearn_gradient(head, stage.problem.theta, Rows{train.X, train.y, {}, harmful},
                         exec);
  found.direction = unlearn_direction(g, *inverse);
  found.seconds = start.seconds();
  found.cpu = start.cpu();
  return found;
}

TimedDirection pairs_direction(const Stage& stage, bool external, const Exec& exec) {
  const Stopwatch start;
  const OwnedRows both = external ? both_sides(stage.edit.pairs.sets.front()) : OwnedRows();
  const Rows rows = external ? both.rows() : stage.train.rows();
  CurvatureOptions curvature;
  curvature.l2 = stage.problem.l2;
  curvature.damping.external = external;
  if (!stage.head->linear()) {  // the step is scaled later, so few digits are enough
    curvature.tolerance = 1e-3;
    curvature.max_iterations = 100;
  }
  const auto inverse =
      make_inverse_hessian(*stage.head, rows, stage.problem.theta, curvature, exec);
  const Vector g =
      unlearn_gradient(*stage.head, stage.problem.theta, stage.edit.pairs.sets, exec);
  UnlearnDirection direction = unlearn_direction(g, *inverse);
  return {std::move(direction), start.seconds(), start.cpu(),
          static_cast<double>(rows.size()), stage.edit.pairs.sets.front().size()};
}

Outcome take_step(const Stage& stage, const TimedDirection& found, bool printed,
                  const Rule& rule, const Exec& exec) {
  const Vector& theta = stage.problem.theta;
  Outcome outcome{.theta = found.direction.step(theta, 1),
                  .seconds = found.seconds,
                  .cpu = found.cpu,
                  .choosing = 0,
                  .labels = true,
                  .rows = found.used,
                  .chosen = "s = 1"};
  if (printed) return outcome;
  const Stopwatch start;
  std::vector<EditCandidate> candidates;
  for (int power = -16; power <= 16; ++power) {
    const double s = std::ldexp(1 / found.rows, power);
    candidates.push_back(
        {found.direction.step(theta, s), fmt::format("s = 2^{}/n = {:.3g}", power, s)});
  }
  const std::size_t best = choose_edit(stage, candidates, rule, exec);
  outcome.theta = candidates[best].theta;
  outcome.chosen = candidates[best].setting;
  outcome.choosing = start.seconds();
  return outcome;
}

// ---- Trivial edits

Outcome tempered_head(const Stage& stage, const Exec& exec) {
  const Stopwatch start;
  const Tempered cooled = tempered(stage.problem, stage.problem.holdout, exec);
  return {cooled.theta,
          0,
          0,
          start.seconds(),
          false,
          0,
          fmt::format("T = {:.3g}", cooled.temperature)};
}

Outcome intercepts(const Stage& stage, const Exec& exec) {
  const Stopwatch start;
  const LinearHead& head = linear(stage);
  const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
  const Matrix z = all_logits(head, both.rows(), stage.problem.theta, exec);
  const Vector shift = best_shift(z, both.y);
  Outcome outcome{.theta = stage.problem.theta,
                  .seconds = 0,
                  .cpu = 0,
                  .choosing = 0,
                  .labels = true,
                  .rows = stage.edit.pairs.c.X->rows(),
                  .chosen = ""};
  for (Index k = 0; k < head.outputs(); ++k) outcome.theta[head.intercept(k)] += shift[k];
  outcome.seconds = start.seconds();
  outcome.cpu = start.cpu();
  return outcome;
}

// ---- solve and solve_adam

Outcome solved(const Stage& stage, const Settings& settings, const Exec& exec) {
  const Stopwatch start;
  std::vector<EditCandidate> candidates;
  Vector last;  // each lambda starts where the one before ended
  const bool adam = settings.word("by") == "adam";
  std::vector<double> lambdas = settings.list("lambda");
  for (const double lambda : lambdas) {
    const Stopwatch begun;
    const Vector theta = solve_once(stage, settings, lambda, exec, last);
    candidates.push_back(
        {theta, fmt::format("lambda = {:.4g}", lambda), begun.seconds(), begun.cpu()});
    if (!adam) last = theta;
  }
  const std::size_t best = choose_edit(stage, candidates, rule_of(settings), exec);
  Outcome outcome{.theta = candidates[best].theta,
                  .seconds = candidates[best].seconds,
                  .cpu = candidates[best].cpu,
                  .choosing = start.seconds(),
                  .labels = settings.number("fit") > 0,
                  .rows = stage.edit.pairs.c.X->rows(),
                  .chosen = candidates[best].setting};
  // The time of one solve that starts from the trained head. Short ones are run up to five
  // times and the shortest time counts: the others were interrupted.
  double total = 0;
  for (int run = 0; !adam && run < 5 && total < 0.2; ++run) {
    const Stopwatch begun;
    (void)solve_once(stage, settings, lambdas[best], exec, {});
    const double took = begun.seconds(), cpu_took = begun.cpu();
    outcome.seconds = run == 0 ? took : std::min(outcome.seconds, took);
    outcome.cpu = run == 0 ? cpu_took : std::min(outcome.cpu, cpu_took);
    total += took;
  }
  return outcome;
}

// ---- Controls

Outcome trained_on_pairs(const Stage& stage, const Settings& settings, const Exec& exec) {
  const Stopwatch start;
  const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
  AdamOptions options;
  options.l2 = 0;
  options.epochs = static_cast<int>(settings.count("finetune_epochs"));
  const AdamResult result =
      train_adam(*stage.head, both.rows(), options, exec, stage.problem.theta);
  return {result.theta,
          start.seconds(),
          start.cpu(),
          0,
          true,
          stage.edit.pairs.c.X->rows(),
          fmt::format("{} epochs", result.summary.best_epoch)};
}

Outcome dfr(const Stage& stage, const Settings& settings, const Exec& exec) {
  const Stopwatch start;
  const LinearHead& head = linear(stage);
  const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
  const std::vector<double>& C = settings.list("dfr_C");
  const Index outputs = head.outputs();
  const LinearHead one(head.inputs(), 1);
  std::vector<EditCandidate> candidates(C.size());
  std::vector<Matrix> W(C.size(), Matrix(outputs, head.inputs()));
  std::vector<Vector> b(C.size(), Vector(outputs));
  std::vector<std::int32_t> y(both.y.size());
  for (Index k = 0; k < outputs; ++k) {
    const auto label = static_cast<std::int32_t>(outputs == 1 ? 1 : k);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = both.y[i] == label ? 1 : 0;
    const std::vector<Vector> thetas =
        fit_dfr(one, {both.X.get(), y, {}, {}}, stage.edit_group, C,
                settings.count("dfr_draws"), exec);
    for (std::size_t c = 0; c < C.size(); ++c) {
      W[c].row(k) = one.W(thetas[c]);
      b[c][k] = one.b(thetas[c])[0];
    }
  }
  for (std::size_t c = 0; c < C.size(); ++c)
    candidates[c] = {head.from(W[c], b[c]), fmt::format("C = {:.3g}", C[c])};
  const std::size_t best = choose_edit(stage, candidates, rule_of(settings), exec);
  return {candidates[best].theta,       start.seconds(),         start.cpu(), 0, true,
          stage.edit.pairs.c.X->rows(), candidates[best].setting};
}

}  // namespace fmd::repro
