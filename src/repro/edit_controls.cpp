#include <fmt/format.h>

#include "fmd/baselines/dfr.h"
#include "fmd/core/error.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/fit/adam.h"
#include "fmd/unlearn/simple.h"
#include "repro/edits.h"

namespace fmd::repro {
namespace {

const LinearHead& linear(const Stage& stage) {
  if (const auto* head = dynamic_cast<const LinearHead*>(stage.head.get())) return *head;
  throw Error(ErrorKind::unsupported, "reproduce: this row edits the last layer alone");
}

// Newton's method on shift alone, for logits z + shift; a little ridge for the direction
// that a softmax does not see.
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

}  // namespace

Outcome tempered(const Stage& stage, const Exec& exec) {
  const Stopwatch start;
  const LinearHead& head = linear(stage);
  const double T = best_temperature(head, stage.theta, stage.holdout.rows.rows(), exec);
  return {temper(head, stage.theta, T), 0, 0, start.seconds(), false, 0,
          fmt::format("T = {:.3g}", T)};
}

Outcome intercepts(const Stage& stage, const Exec& exec) {
  const Stopwatch start;
  const LinearHead& head = linear(stage);
  const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
  const Matrix z = all_logits(head, both.rows(), stage.theta, exec);
  const Vector shift = best_shift(z, both.y);
  Outcome outcome{.theta = stage.theta,
                  .seconds = 0,
                  .cpu = 0,
                  .choosing = 0,
                  .labels = true,
                  .rows = stage.edit.pairs.c.X->rows(),
                  .chosen = ""};
  for (Index k = 0; k < head.outputs(); ++k)
    outcome.theta[k * (head.inputs() + 1) + head.inputs()] += shift[k];
  outcome.seconds = start.seconds();
  outcome.cpu = start.cpu();
  return outcome;
}

Outcome fine_tuned(const Stage& stage, const Settings& settings, const Exec& exec) {
  const Stopwatch start;
  const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
  AdamOptions options;
  options.l2 = 0;
  options.epochs = static_cast<int>(settings.count("finetune_epochs"));
  const AdamResult result =
      train_adam(*stage.head, both.rows(), options, exec, stage.theta);
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
  const Index outputs = head.outputs(), d = head.inputs() + 1;
  const LinearHead one(head.inputs(), 1);
  std::vector<Candidate> candidates(C.size());
  for (std::size_t c = 0; c < C.size(); ++c)
    candidates[c] = {Vector::Zero(head.parameters()), fmt::format("C = {:.3g}", C[c])};
  std::vector<std::int32_t> y(both.y.size());
  for (Index k = 0; k < outputs; ++k) {
    const auto label = static_cast<std::int32_t>(outputs == 1 ? 1 : k);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = both.y[i] == label ? 1 : 0;
    const std::vector<Vector> thetas =
        fit_dfr(one, {both.X.get(), y, {}, {}}, stage.edit_group, C,
                settings.count("dfr_draws"), exec);
    for (std::size_t c = 0; c < C.size(); ++c)
      candidates[c].theta.segment(k * d, d) = thetas[c];
  }
  const std::size_t best = choose(stage, candidates, rule_of(settings), exec);
  return {candidates[best].theta,       start.seconds(),         start.cpu(), 0, true,
          stage.edit.pairs.c.X->rows(), candidates[best].setting};
}

}  // namespace fmd::repro
