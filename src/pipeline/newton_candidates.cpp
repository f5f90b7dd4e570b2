#include "pipeline/newton_candidates.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/unlearn/newton.h"
#include "pipeline/debias_options.h"
#include "pipeline/row_exchange.h"
#include "pipeline/step_curvature.h"

namespace fmd::internal {
namespace {

constexpr int kBelowRemoval = 4;  // powers of 2 below 1/n that are tried

// The scales that are tried: powers of 2 from well below 1/n, where a step is what removing
// the rows would do, up to 1, the equations as printed.
std::vector<double> scales(const DebiasOptions& options, double n) {
  std::vector<double> all;
  const StepScale& scale = options.newton.scale;
  if (scale.kind == StepScale::Kind::chosen) {
    const int lowest = static_cast<int>(std::floor(-std::log2(n))) - kBelowRemoval;
    for (int e = lowest; e <= 0; ++e) all.push_back(std::ldexp(1.0, e));
  } else {
    all.push_back(scale.factor(n));
  }
  const std::optional<double>& at = options.at.s;
  if (at && std::find(all.begin(), all.end(), *at) == all.end()) all.push_back(*at);
  std::sort(all.begin(), all.end());
  return all;
}

void add_solve(const InverseSummary& one, InverseSummary& all) {
  all.converged = all.converged && one.converged;
  all.residual = std::max(all.residual, one.residual);
  all.damping = std::max(all.damping, one.damping);
  all.rcond = all.rcond == 0 ? one.rcond : std::min(all.rcond, one.rcond);
  all.iterations += one.iterations;
  all.solver = one.solver;
  all.cached = all.cached || one.cached;
}

class Steps {
 public:
  Steps(const CandidateInput& input, const DebiasOptions& options, const Exec& exec)
      : input_(input), options_(options), exec_(exec), curvature_(input, options) {}

  Candidates run() {
    const RowExchanges exchanges = make_row_exchanges(input_, options_, exec_);
    candidates_.relative_gradient = exchanges.relative_gradient;
    const std::vector<double> all = scales(options_, curvature_.rows());
    candidates_.solve.converged = true;
    first_ = curvature_.at(input_.model.theta, exec_);
    Index done = 0;
    for (const RowExchange& exchange : exchanges.all) {
      exec_.report("repairing", done++, static_cast<Index>(exchanges.all.size()));
      add_candidates(exchange, all);
    }
    candidates_.hessian_source = curvature_.name();
    candidates_.status = candidates_.solve.converged ? "converged" : "not converged";
    return std::move(candidates_);
  }

 private:
  // One solve for all scales; each is theta + s H^-1 g.
  void add_candidates(const RowExchange& exchange, const std::vector<double>& all) {
    const Vector& theta = input_.model.theta;
    const Vector g = exchange.gradient(*input_.model.head, theta, exec_);
    const InverseResult direction = first_->apply(g);
    add_solve(direction.summary, candidates_.solve);
    for (const double s : all) {
      Candidate candidate;
      candidate.kind = to_string(options_.method);
      candidate.s = s;
      candidate.K = exchange.K;
      candidate.theta = options_.newton.refresh == 1
                            ? Vector(theta + s * direction.x.col(0))
                            : refreshed(exchange, s, direction);
      candidates_.all.push_back(std::move(candidate));
    }
  }

  // `refresh` steps of s / refresh each, with H and g at the parameters that the last one
  // reached.
  Vector refreshed(const RowExchange& exchange, double s, const InverseResult& first) {
    const UnlearnOptions step{.step_scale = s / options_.newton.refresh};
    Vector theta = input_.model.theta + step.step_scale * first.x.col(0);
    for (int k = 1; k < options_.newton.refresh; ++k) {
      const Vector g = exchange.gradient(*input_.model.head, theta, exec_);
      const UnlearnResult next = newton_step(theta, g, *curvature_.at(theta, exec_), step);
      add_solve(next.summary.solve, candidates_.solve);
      theta = next.theta;
    }
    return theta;
  }

  const CandidateInput& input_;
  const DebiasOptions& options_;
  const Exec& exec_;
  StepCurvature curvature_;
  std::unique_ptr<InverseHessian> first_;
  Candidates candidates_;
};

}  // namespace

Candidates newton_candidates(const CandidateInput& input, const DebiasOptions& options,
                             const Exec& exec) {
  return Steps(input, options, exec).run();
}

}  // namespace fmd::internal
