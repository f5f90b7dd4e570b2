#include "repair/group_targets.h"

#include <algorithm>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/unlearn/solve.h"
#include "repair/gap_penalties.h"
#include "repair/newton_candidates.h"
#include "repair/odds.h"

namespace fmd::internal {
namespace {

constexpr double kSharpen = 4;
// So dense that the gap falls by little from one to the next: the most accurate candidate
// that reaches a target is then hardly below it.
constexpr double kGammas[] = {0, 0.1, 0.2, 0.3, 0.45, 0.7, 1,   1.4, 2,
                              3, 5,   8,   15,  30,   60,  100, 300};
// Where along the path's grid the flips are held together. Further along nothing changes:
// the flip gap is near 0 here.
constexpr double kPlaces[] = {0.6};

std::vector<const char*> soft_measures(const std::string& measure) {
  if (measure == "demographic_parity") return {"demographic_parity_soft"};
  if (measure == "equal_opportunity") return {"equal_opportunity_soft"};
  return {"equal_opportunity_soft", "false_positive_soft"};
}

}  // namespace

std::vector<GapPenalty> group_penalties(const HeadProblem& problem,
                                        const RepairOptions& options, double gamma) {
  std::vector<GapPenalty> all;
  for (std::size_t k = 0; gamma > 0 && k < problem.repaired.size(); ++k) {
    const GroupCodes& attribute = problem.group(problem.edit, k);
    if (!options.target->attribute.empty() && options.target->attribute != attribute.name)
      continue;
    const LargeGroups groups = large_groups(attribute, problem.min_group);
    if (groups.count < 2)
      throw Error(ErrorKind::bad_data,
                  problem.edit.source + ": " + attribute.name +
                      " has fewer than two values with enough rows",
                  "give more labelled rows, or lower --min-group");
    for (const char* name : soft_measures(options.target->measure)) {
      GapPenalty penalty;
      penalty.measure = make_measure(
          name,
          {.favorable = problem.favorable, .groups = groups.count, .sharpen = kSharpen});
      penalty.gamma = gamma;
      penalty.group = groups.code;
      all.push_back(std::move(penalty));
    }
  }
  return all;
}

namespace {

void add_settings(const RepairOptions& options, const Path& path,
                  std::vector<Candidate>& all) {
  std::vector<double> lambdas;
  const std::vector<double> grid = path_lambdas(path, options.points);
  const auto last = static_cast<double>(grid.size() - 1);
  for (const double place : kPlaces)
    lambdas.push_back(grid[static_cast<std::size_t>(place * last)]);
  if (options.may_use_attribute) lambdas.insert(lambdas.begin(), 0);
  const CandidateAt& asked = options.at;
  if (asked.lambda &&
      std::find(lambdas.begin(), lambdas.end(), *asked.lambda) == lambdas.end())
    lambdas.push_back(*asked.lambda);
  std::sort(lambdas.begin(), lambdas.end());
  for (const double lambda : lambdas) {
    for (const double gamma : kGammas) {
      all.emplace_back();
      all.back().lambda = lambda;
      all.back().gamma = gamma;
    }
    if (asked.gamma && asked.lambda == lambda &&
        std::find(std::begin(kGammas), std::end(kGammas), *asked.gamma) ==
            std::end(kGammas)) {
      all.emplace_back();
      all.back().lambda = lambda;
      all.back().gamma = *asked.gamma;
    }
  }
}

}  // namespace

bool is_group_gap(const std::string& measure) {
  return measure == "demographic_parity" || measure == "equal_opportunity" ||
         measure == "equalized_odds";
}

bool targets_group_gap(const RepairOptions& options) {
  return options.target && is_group_gap(options.target->measure);
}

void require_favorable(const HeadProblem& problem) {
  if (problem.favorable < 0)
    throw Error(ErrorKind::bad_option, "debias: a group gap needs a favourable class",
                "say which answer is good for the person: --favorable VALUE");
}

Candidates group_target_candidates(const HeadProblem& problem, const RepairOptions& options,
                                   const SharedFit& shared, const Exec& exec) {
  if (!problem.head->linear())
    throw Error(ErrorKind::unsupported,
                "debias: a target on a group gap works on a linear head", "use --layers 1");
  require_favorable(problem);
  const bool from_train = hessian_from_train(problem, options);
  Candidates made;
  made.path = shared.path != nullptr
                  ? *shared.path
                  : make_path(*problem.head->as_linear(),
                              from_train ? problem.train->rows : problem.edit.rows,
                              problem.edit.pairs, problem.theta, {.l2 = problem.l2}, exec);
  if (shared.empty())
    add_settings(options, made.path, made.all);
  else
    made.all.assign(shared.wanted.begin(), shared.wanted.end());
  made.solve = {.converged = true, .solver = "levenberg-marquardt"};
  SolveOptions how = solve_options(problem, options);
  how.tolerance = 1e-5;  // decisions do not see more
  how.max_iterations = 40;
  Vector start;
  for (std::size_t i = 0; i < made.all.size(); ++i) {
    Candidate& candidate = made.all[i];
    exec.report("repairing", static_cast<Index>(i), std::ssize(made.all));
    if (i == 0 || made.all[i - 1].lambda != candidate.lambda)
      start = made.path.theta(candidate.lambda);
    how.lambda = candidate.lambda;
    how.gaps = group_penalties(problem, options, candidate.gamma);
    const SolveResult solved = solve(*problem.head, problem.theta, problem.edit.rows,
                                     problem.edit.pairs, how, exec, start);
    start = candidate.theta = solved.theta;
    candidate.kind = to_string(RepairMethod::solve);
    add_solve(solved.summary, made.solve);
  }
  made.hessian_source = "none";
  made.status = made.solve.converged ? "converged" : "stopped";
  return made;
}

}  // namespace fmd::internal
