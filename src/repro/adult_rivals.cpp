#include <cmath>

#include "core/index.h"
#include "fmd/baselines/baseline.h"
#include "fmd/core/error.h"
#include "pipeline/candidates.h"
#include "repro/adult.h"

namespace fmd::repro {
namespace {

// Expected figures where lots are drawn.
Score score_answers(const Answers& plain, const Answers& flipped, const Side& side) {
  Score found;
  double share[2] = {0, 0}, rows[2] = {0, 0}, hits[2] = {0, 0}, positive[2] = {0, 0};
  double gap = 0;
  const Index n = plain.p.rows();
  for (Index i = 0; i < n; ++i) {
    const std::int32_t y = side.rows.y[at(i)], g = side.group[at(i)];
    found.accuracy += plain.decision(i, y);
    gap += std::abs(plain.p(i, y) - flipped.p(i, y));
    rows[g] += 1;
    share[g] += plain.decision(i, 1);
    if (y != 1) continue;
    positive[g] += 1;
    hits[g] += plain.decision(i, 1);
  }
  found.accuracy /= static_cast<double>(n);
  found.bias = gap / static_cast<double>(n);
  found.parity = std::abs(share[0] / rows[0] - share[1] / rows[1]);
  found.opportunity = std::abs(hits[0] / positive[0] - hits[1] / positive[1]);
  return found;
}

}  // namespace

Measured AdultIncome::rival(const std::string& id, const std::string& name) {
  if (find_baseline(name) == nullptr)
    throw Error(ErrorKind::bad_task, "reproduce: no method \"" + name + "\"");
  const Stage& last = stage(1);
  const Study study = make_study(model_, edit_, model_.task, true, exec_);
  const Attribute& attribute = study.attributes[at(study.find(attribute_))];
  BaselineProblem problem;
  problem.head = dynamic_cast<const LinearHead&>(*last.head);
  problem.theta = last.theta;
  problem.l2 = last.l2;
  problem.favorable = 1;
  problem.groups = 2;
  problem.attribute_features = attribute_features(model_, {&attribute});
  problem.edit = {last.edit.rows.rows(), last.edit.group};
  const Stopwatch start;
  const std::vector<BaselineCandidate> candidates = fit_baseline(name, problem, exec_);
  const double seconds = start.seconds(), cpu = start.cpu();
  const auto scored = [&](const BaselineCandidate& candidate, const Side& side) {
    std::vector<std::int32_t> other;
    for (const std::int32_t g : side.group) other.push_back(1 - g);
    return score_answers(candidate.answer({side.rows.rows(), side.group}, exec_),
                         candidate.answer({side.pairs.cbar.rows(), other}, exec_), side);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i)
    if (scored(candidates[i], last.holdout).accuracy >
        scored(candidates[best], last.holdout).accuracy)
      best = i;
  const Score reached = scored(candidates[best], last.report);
  return {id,
          {{"accuracy", 100 * reached.accuracy},
           {"bias", reached.bias},
           {"parity", reached.parity},
           {"opportunity", reached.opportunity},
           {"seconds", seconds},
           {"cpu", cpu},
           {"choosing", 0},
           {"rows", static_cast<double>(edit_.rows())}},
          candidates[best].setting,
          true};
}

}  // namespace fmd::repro
