#include "pipeline/candidates.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/unlearn/simple.h"
#include "fmd/unlearn/solve.h"
#include "pipeline/debias_options.h"
#include "pipeline/match_candidates.h"
#include "pipeline/network_candidates.h"
#include "pipeline/newton_candidates.h"
#include "pipeline/step_curvature.h"
#include "pipeline/study_parts.h"

namespace fmd::internal {
namespace {

Vector kept_rate(const Model& model, const StudyPart& edit, const Vector& theta,
                 double rate, const Exec& exec) {
  return shift_to_rate(*model.head, theta, edit.view(), model.task.threshold,
                       model.task.favorable_class(), rate, exec);
}

double favorable_rate(const Model& model, const StudyPart& part, const Exec& exec) {
  const Scored scored = score(model, *part.study, part.rows, exec);
  const Index yes =
      std::count(scored.decision.begin(), scored.decision.end(), scored.favorable);
  return static_cast<double>(yes) / static_cast<double>(scored.rows());
}

std::vector<double> path_grid(const Path& path, const DebiasOptions& options) {
  std::vector<double> grid = path_lambdas(path, options.points);
  const std::optional<double>& at = options.at.lambda;
  if (at && std::find(grid.begin(), grid.end(), *at) == grid.end()) grid.push_back(*at);
  std::sort(grid.begin(), grid.end());
  return grid;
}

// Refines every point of the path to the minimum of J, not only the chosen one: so
// `--at lambda=X` gives the same model as the one whose figures are in the path file. The
// solve starts from the path's point plus an offset: how far the last solve ended from
// its own point.
void refine(const CandidateInput& input, const DebiasOptions& options, const Exec& exec,
            Candidates& candidates) {
  const Model& model = input.model;
  SolveOptions solve_options{.anchor = options.anchor,
                             .fit = options.fit,
                             .lambda = 0,
                             .mu = options.mu >= 0 ? options.mu : model.note.l2,
                             .gaps = gap_penalties(model, input.edit, options)};
  const std::vector<PairSet> sets = input.edit.sets();
  Vector offset = Vector::Zero(model.theta.size());
  Index done = 0;
  for (Candidate& candidate : candidates.all) {
    exec.report("repairing", done++, static_cast<Index>(candidates.all.size()));
    solve_options.lambda = candidate.lambda;
    const Vector seed = candidate.theta;
    const SolveResult solved = solve(linear_head(model), model.theta, input.edit.view(),
                                     sets, solve_options, exec, seed + offset);
    candidate.theta = solved.theta;
    candidate.kind = "solve";
    offset = solved.theta - seed;
    InverseSummary& s = candidates.solve;
    s.residual = std::max(s.residual, solved.summary.gradient);
    s.iterations += solved.summary.iterations;
    if (solved.summary.status == SolveStatus::stopped) s.converged = false;
  }
  candidates.solve.solver = "levenberg-marquardt";
  candidates.status = candidates.solve.converged ? "converged" : "not converged";
}

// The points of the trade-off path; for solve they are refined.
Candidates path_candidates(const CandidateInput& input, const DebiasOptions& options,
                           const Exec& exec) {
  const Model& model = input.model;
  const bool from_train = hessian_from_train(input, options);
  const Rows rows = from_train ? input.train->training_rows() : input.edit.view();
  Candidates candidates;
  candidates.path = make_path(linear_head(model), rows, input.edit.sets(), model.theta,
                              {.l2 = model.note.l2}, exec);
  for (const double lambda : path_grid(candidates.path, options)) {
    Candidate candidate;
    candidate.lambda = lambda;
    candidate.kind = "path";
    candidate.theta = candidates.path.theta(lambda);
    candidates.all.push_back(std::move(candidate));
  }
  candidates.hessian_source = from_train ? "train" : "edit";
  const bool dense = model.theta.size() <= kMostDense;
  candidates.status = dense                       ? "exact"
                      : candidates.path.converged ? "converged"
                                                  : "not converged";
  candidates.solve = {.converged = candidates.path.converged,
                      .residual = candidates.path.residual,
                      .damping = candidates.path.damping,
                      .rcond = candidates.path.rcond,
                      .solver = dense ? "eigendecomposition" : "lanczos"};
  if (options.method == RepairMethod::solve) refine(input, options, exec, candidates);
  return candidates;
}

Candidates average_candidate(const CandidateInput& input, const Exec& exec) {
  std::vector<const Attribute*> repaired;
  for (const StudyPairs& pairs : input.edit.pairs)
    repaired.push_back(&input.edit.study->attributes[pairs.attribute]);
  Candidate candidate;
  candidate.lambda = std::numeric_limits<double>::infinity();
  candidate.kind = "average-column";
  if (!head_on_columns(input.model))
    throw Error(ErrorKind::unsupported,
                "debias: method average-column needs a head that reads the columns itself",
                "use --method solve");
  candidate.theta =
      average_features(*input.model.head, input.model.theta, input.edit.view(),
                       attribute_features(input.model, repaired), exec);
  Candidates candidates;
  candidates.all.push_back(std::move(candidate));
  candidates.status = "exact";
  candidates.solve = {.converged = true, .solver = "none"};
  candidates.hessian_source = "none";
  return candidates;
}

}  // namespace

std::vector<GapPenalty> gap_penalties(const Model& model, const StudyPart& edit,
                                      const DebiasOptions& options) {
  std::vector<GapPenalty> gaps;
  for (const Limit& gap : options.gaps) {
    const Index a = edit.study->find(gap.attribute);
    if (a < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("gap {}: {} is not an attribute of this task", to_string(gap),
                              gap.attribute),
                  "write MEASURE:ATTRIBUTE=GAMMA, e.g. demographic_parity_soft:sex=10");
    }
    const Attribute& attribute = edit.study->attributes[static_cast<std::size_t>(a)];
    GapPenalty penalty;
    penalty.measure =
        make_measure(gap.measure, {.favorable = model.task.favorable_class(),
                                   .groups = static_cast<Index>(attribute.values.size()),
                                   .sharpen = 1});
    penalty.gamma = gap.value;
    penalty.group = attribute.code;
    gaps.push_back(std::move(penalty));
  }
  return gaps;
}

std::vector<PairSet> StudyPart::sets() const {
  std::vector<PairSet> sets;
  for (const StudyPairs& p : pairs) sets.push_back(p.set(*study));
  return sets;
}

std::vector<Index> attribute_features(const Model& model,
                                      const std::vector<const Attribute*>& attributes) {
  std::vector<Index> features;
  if (!head_on_columns(model)) return features;
  for (const Attribute* attribute : attributes)
    for (const Index f : model.backbone->columns()->of(*attribute)) features.push_back(f);
  return features;
}

Candidates make_candidates(const CandidateInput& input, const DebiasOptions& options,
                           const Exec& exec) {
  Candidates candidates =
      repairs_matched(input.edit, input.model.task, options)
          ? match_candidates(input, options, exec)
      : options.method == RepairMethod::average_column ? average_candidate(input, exec)
      : is_newton(options.method)  ? newton_candidates(input, options, exec)
      : input.model.head->linear() ? path_candidates(input, options, exec)
                                   : network_candidates(input, options, exec);
  if (options.keep_rate) {
    const double rate = favorable_rate(input.model, input.edit, exec);
    for (Candidate& candidate : candidates.all)
      candidate.theta = kept_rate(input.model, input.edit, candidate.theta, rate, exec);
  }
  return candidates;
}

}  // namespace fmd::internal
