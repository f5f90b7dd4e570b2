#include <algorithm>

#include <fmt/format.h>

#include "fmd/unlearn/solve.h"
#include "fmd/unlearn/solve_adam.h"
#include "repro/edits.h"

namespace fmd::repro {
namespace {

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
  const std::vector<PairSet>& pairs = stage.edit.pairs.sets;
  const Rows rows = stage.edit.pairs.c.rows();
  const SolveOptions options = options_of(settings, lambda);
  if (settings.word("by") != "adam")
    return solve(*stage.head, stage.theta, rows, pairs, options, exec, start).theta;
  SolveAdamOptions adam;
  adam.epochs = static_cast<int>(settings.count("epochs"));
  adam.batch = settings.count("batch");
  adam.learning_rate = settings.number("learning_rate");
  std::vector<PairSet> drawn;
  PairsOfEpoch redraw;
  if (stage.redraw)
    redraw = [&](int epoch) -> std::span<const PairSet> {
      drawn = stage.redraw(epoch);
      return drawn;
    };
  return solve_adam(*stage.head, stage.theta, rows, pairs, options, adam, redraw, exec)
      .theta;
}

}  // namespace

Outcome solved(const Stage& stage, const Settings& settings, const Exec& exec) {
  const Stopwatch start;
  std::vector<Candidate> candidates;
  Vector last;  // each lambda starts where the one before ended
  const bool adam = settings.word("by") == "adam";
  std::vector<double> lambdas = settings.list("lambda");
  double seconds = 0, cpu = 0;
  for (const double lambda : lambdas) {
    const Stopwatch begun;
    const Vector theta = solve_once(stage, settings, lambda, exec, last);
    seconds = begun.seconds();
    cpu = begun.cpu();
    candidates.push_back({theta, fmt::format("lambda = {:.4g}", lambda)});
    if (!adam) last = theta;
  }
  const std::size_t best = choose(stage, candidates, rule_of(settings), exec);
  Outcome outcome{.theta = candidates[best].theta,
                  .seconds = seconds,
                  .cpu = cpu,
                  .choosing = start.seconds(),
                  .labels = settings.number("fit") > 0,
                  .rows = stage.edit.pairs.c.X->rows(),
                  .chosen = candidates[best].setting};
  // What one solve takes, from the trained head on and with nothing known before. Short
  // ones are run up to five times and the shortest counts: the others were interrupted.
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

}  // namespace fmd::repro
