#pragma once

#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/metrics/interval.h"
#include "fmd/model/head_problem.h"
#include "fmd/repair/repair_options.h"
#include "fmd/unlearn/candidate.h"
#include "fmd/unlearn/path.h"

namespace fmd {

// The candidates' parameters, before anything is measured.
struct Candidates {
  std::vector<Candidate> all;
  Path path;                              // solve and path only
  std::vector<Index> path_features;       // trees: the leaves of `path`; empty = all
  InverseSummary solve;                   // largest residual; iterations of all candidates
  double relative_gradient = kUndefined;  // remove, replace: see DebiasReport
  std::string status;
  std::string hessian_source;  // "train" | "edit" | "edit pairs" | "none"

  // All parameters at this point of the path; theta0: those of the problem.
  [[nodiscard]] Vector on_path(const Vector& theta0, double lambda) const;
};

// The candidates of options.method; on matched pairs those of match_candidates.h. Throws
// Error(bad_option, unsupported: a method that this head does not have, bad_data), and what
// the method throws.
[[nodiscard]] Candidates make_candidates(const HeadProblem& problem,
                                         const RepairOptions& options, const Exec& exec);

// What the methods are called, in the order of reports.
struct RepairMethodInfo {
  RepairMethod method;
  const char* title;
  bool trains;      // it needs the rows that the head was trained on
  bool on_columns;  // it needs a head that reads the attribute's columns itself
  bool compared;    // false: a variant of another method, not compared with it
};
[[nodiscard]] const std::vector<RepairMethodInfo>& repair_methods();

}  // namespace fmd
