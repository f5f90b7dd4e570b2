#include "fmd/repair/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/check.h"
#include "core/index.h"
#include "fmd/repair/choice.h"
#include "fmd/repair/controls.h"
#include "fmd/unlearn/simple.h"
#include "fmd/unlearn/solve.h"
#include "repair/gap_penalties.h"
#include "repair/group_targets.h"
#include "repair/leaf_repair.h"
#include "repair/match_candidates.h"
#include "repair/network_candidates.h"
#include "repair/newton_candidates.h"
#include "repair/shared_fit.h"

namespace fmd {
namespace {

std::vector<double> path_grid(const Path& path, const RepairOptions& options,
                              const SharedFit& shared) {
  std::vector<double> grid;
  for (const Candidate& one : shared.wanted) grid.push_back(one.lambda);
  if (!shared.empty()) return grid;
  grid = path_lambdas(path, options.points);
  const std::optional<double>& at = options.at.lambda;
  if (at && std::find(grid.begin(), grid.end(), *at) == grid.end()) grid.push_back(*at);
  std::sort(grid.begin(), grid.end());
  return grid;
}

// The points of the trade-off path of a linear head.
Candidates linear_path(const HeadProblem& problem, const RepairOptions& options,
                       const SharedFit& shared, const Exec& exec) {
  const bool from_train = hessian_from_train(problem, options);
  const Rows rows = from_train ? problem.train->rows : problem.edit.rows;
  Candidates candidates;
  candidates.path = shared.path != nullptr
                        ? *shared.path
                        : make_path(*problem.head->as_linear(), rows, repair_pairs(problem),
                                    problem.theta, {.l2 = problem.l2}, exec);
  for (const double lambda : path_grid(candidates.path, options, shared)) {
    Candidate candidate;
    candidate.lambda = lambda;
    candidate.kind = to_string(RepairMethod::path);
    candidate.theta = candidates.path.theta(lambda);
    candidates.all.push_back(std::move(candidate));
  }
  candidates.hessian_source = from_train ? "train" : "edit";
  const bool dense = problem.theta.size() <= kMostDense;
  candidates.status = dense                       ? "exact"
                      : candidates.path.converged ? "converged"
                                                  : "not converged";
  candidates.solve = {.converged = candidates.path.converged,
                      .residual = candidates.path.residual,
                      .damping = candidates.path.damping,
                      .rcond = candidates.path.rcond,
                      .solver = dense ? "eigendecomposition" : "lanczos"};
  return candidates;
}

Candidates path_candidates(const HeadProblem& problem, const RepairOptions& options,
                           const SharedFit& shared, const Exec& exec) {
  if (!problem.head->linear())
    throw Error(ErrorKind::unsupported,
                "debias: method path does not work on two or more layers of a network",
                "use --method solve, or --layers 1");
  return linear_path(problem, options, shared, exec);
}

// How far each solve ends from its seed, and from that where the next one should start:
// along log lambda the distance changes slowly.
class Offset {
 public:
  explicit Offset(Index size) : last_(Vector::Zero(size)) {}
  [[nodiscard]] Vector at(double lambda) const {
    if (earlier_.size() == 0 || !(lambda > 0)) return last_;
    const double gone = last_log_ - earlier_log_;
    const double share = std::clamp((std::log(lambda) - last_log_) / gone, 0.0, 1.0);
    return last_ + share * (last_ - earlier_);
  }
  void add(double lambda, Vector offset) {
    if (std::isfinite(last_log_) && lambda > 0) {
      earlier_ = std::move(last_);
      earlier_log_ = last_log_;
    }
    last_ = std::move(offset);
    last_log_ = std::log(lambda);
  }

 private:
  Vector last_, earlier_;
  double last_log_ = -std::numeric_limits<double>::infinity(), earlier_log_ = 0;
};

// The settings of the fit on all rows, each with its parameters as a seed.
Candidates from_whole(const SharedFit& shared) {
  Candidates candidates;
  candidates.all.assign(shared.wanted.begin(), shared.wanted.end());
  candidates.solve.converged = true;
  return candidates;
}

// Refines every point of the path to the minimum of J, not only the chosen one: so
// `--at lambda=X` gives the same model as the one whose figures are in the path file.
// Without a fold the seeds are what all rows gave.
Candidates solve_candidates(const HeadProblem& problem, const RepairOptions& options,
                            const SharedFit& shared, const Exec& exec) {
  if (!problem.head->linear()) return network_candidates(problem, options, shared, exec);
  Candidates candidates =
      shared.empty() ? linear_path(problem, options, shared, exec) : from_whole(shared);
  const std::vector<PairSet> pairs = repair_pairs(problem);
  SolveOptions how = solve_options(problem, options);
  // A fold's fit serves for figures of many rows, not for a file: no last polish.
  if (!shared.empty()) how.min_fall = 1e-9;
  SolveSeries series(*problem.head, problem.theta, problem.edit.rows, pairs, how, exec);
  Offset offset(problem.theta.size());
  Index done = 0;
  for (Candidate& candidate : candidates.all) {
    exec.report("repairing", done++, static_cast<Index>(candidates.all.size()));
    const Vector seed = candidate.theta;
    const SolveResult solved =
        series.solve(candidate.lambda, seed + offset.at(candidate.lambda));
    candidate.theta = solved.theta;
    candidate.kind = to_string(RepairMethod::solve);
    offset.add(candidate.lambda, solved.theta - seed);
    add_solve(solved.summary, candidates.solve);
  }
  candidates.solve.solver = "levenberg-marquardt";
  candidates.status = candidates.solve.converged ? "converged" : "not converged";
  return candidates;
}

Candidates average_candidate(const HeadProblem& problem, const RepairOptions&,
                             const SharedFit&, const Exec& exec) {
  Candidate candidate;
  candidate.lambda = std::numeric_limits<double>::infinity();
  candidate.kind = to_string(RepairMethod::average_column);
  if (!problem.attribute_features)
    throw Error(ErrorKind::unsupported,
                "debias: method average-column needs a head that reads the columns itself",
                "use --method solve");
  candidate.theta = column_averaged(problem, exec);
  Candidates candidates;
  candidates.all.push_back(std::move(candidate));
  candidates.status = "exact";
  candidates.solve = {.converged = true, .solver = "none"};
  candidates.hessian_source = "none";
  return candidates;
}

// To add a method: an enumerator and its name in repair_options, and a line here. debias
// and compare then offer it.
struct MethodEntry {
  RepairMethodInfo info;
  Candidates (*make)(const HeadProblem&, const RepairOptions&, const SharedFit&,
                     const Exec&);
};

constexpr MethodEntry kMethods[] = {
    {{RepairMethod::solve, "consistency with an anchor", false, false, true},
     solve_candidates},
    {{RepairMethod::path, "consistency with a quadratic anchor", false, false, false},
     path_candidates},
    {{RepairMethod::step, "Newton step on the pairs, Eq. 9", false, false, true},
     newton_candidates},
    {{RepairMethod::remove, "training rows removed, Eq. 7", true, false, true},
     newton_candidates},
    {{RepairMethod::replace, "training rows replaced, Eq. 8", true, false, true},
     newton_candidates},
    {{RepairMethod::average_column, "column averaged", false, true, true},
     average_candidate},
};

Candidates method_candidates(const HeadProblem& problem, const RepairOptions& options,
                             const SharedFit& shared, const Exec& exec) {
  if (repairs_matched(problem, options))
    return match_candidates(problem, options, shared, exec);
  if (targets_group_gap(options))
    return group_target_candidates(problem, options, shared, exec);
  for (const MethodEntry& entry : kMethods)
    if (entry.info.method == options.method)
      return entry.make(problem, options, shared, exec);
  throw Error(ErrorKind::bad_option,
              fmt::format("debias: there is no method {}", to_string(options.method)));
}

}  // namespace

const std::vector<RepairMethodInfo>& repair_methods() {
  static const std::vector<RepairMethodInfo> all = [] {
    std::vector<RepairMethodInfo> infos;
    for (const MethodEntry& entry : kMethods) infos.push_back(entry.info);
    return infos;
  }();
  return all;
}

Candidates make_candidates(const HeadProblem& problem, const RepairOptions& options,
                           const Exec& exec) {
  if (problem.touched.empty()) return make_shared_candidates(problem, options, {}, exec);
  const TouchedLeaves touched(problem, exec);
  RepairOptions how = options;
  how.method = leaf_method(options);
  Candidates candidates = make_shared_candidates(touched.problem(), how, {}, exec);
  touched.widen(candidates);
  return candidates;
}

Vector Candidates::on_path(const Vector& theta0, double lambda) const {
  Vector theta = path.theta(lambda);
  if (path_features.empty()) return theta;
  Vector all = theta0;
  for (std::size_t j = 0; j < path_features.size(); ++j)
    all[path_features[j]] = theta[static_cast<Index>(j)];
  return all;
}

}  // namespace fmd

namespace fmd::internal {

std::vector<PairSet> repair_pairs(const HeadProblem& problem) {
  std::vector<PairSet> all = problem.edit.pairs;
  for (const PairSet& set : more_pairs(problem)) all.push_back(set);
  return all;
}

Candidates make_shared_candidates(const HeadProblem& problem, const RepairOptions& options,
                                  const SharedFit& shared, const Exec& exec) {
  Candidates candidates = method_candidates(problem, options, shared, exec);
  if (options.keep_rate) {
    const double rate = favorable_rate(problem, problem.theta, problem.edit, exec);
    for (Candidate& candidate : candidates.all)
      candidate.theta = shifted(problem, candidate.theta, problem.edit, rate, exec);
  }
  return candidates;
}

}  // namespace fmd::internal
