#include "repair/newton_candidates.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/curvature/hessian.h"
#include "fmd/influence/influence.h"
#include "fmd/influence/ranking.h"
#include "fmd/unlearn/newton.h"
#include "model/stacked_rows.h"

namespace fmd::internal {
namespace {

// ---- The Hessian that the steps use, at any parameters

constexpr double kNetworkTolerance = 1e-4;

// A receipt is verified to 1e-6 on other machines. With hidden layers that is not possible.
double tolerance_of(const Head& head) { return head.linear() ? 1e-10 : kNetworkTolerance; }

class StepCurvature {
 public:
  StepCurvature(const HeadProblem& problem, const RepairOptions& options)
      : problem_(problem),
        from_train_(hessian_from_train(problem, options)),
        solver_(options.newton.solver) {
    if (from_train_)
      n_ = static_cast<double>(problem.train->rows.size());
    else
      weigh_pairs();
  }

  [[nodiscard]] double rows() const { return n_; }  // n: rows in the Hessian's data
  [[nodiscard]] const char* name() const { return from_train_ ? "train" : "edit pairs"; }

  // The result must not outlive this and exec.
  [[nodiscard]] std::unique_ptr<InverseHessian> at(const Vector& theta,
                                                   const Exec& exec) const {
    if (from_train_)
      return make_inverse_hessian(*problem_.head, problem_.train->rows, theta, options(),
                                  exec);
    if (!problem_.head->linear() || theta.size() > kMostDense)
      return of_pair_rows(theta, exec);
    return make_cholesky(pairs_hessian(theta, exec), {.damping = -1, .external = true});
  }

 private:
  [[nodiscard]] std::span<const PairSet> pairs() const { return problem_.edit.pairs; }

  [[nodiscard]] CurvatureOptions options() const {
    CurvatureOptions options;
    options.solver = solver_;
    options.l2 = problem_.l2;
    options.tolerance = tolerance_of(*problem_.head);
    return options;
  }

  // A row and its flips have the same weight; several attributes share it.
  void weigh_pairs() {
    const auto share = 1 / static_cast<float>(pairs().size());
    c_weight_.assign(internal::at(pairs()[0].c.X->rows()), 0);
    for (const PairSet& set : pairs()) {
      cbar_weight_.emplace_back();
      for (Index i = 0; i < set.size(); ++i) {
        const float weight = share * set.weight[internal::at(i)];
        c_weight_[internal::at(set.c.row(i))] += weight;
        cbar_weight_.back().push_back(weight);
        n_ += 2 * static_cast<double>(weight);
      }
    }
    for (std::size_t row = 0; row < c_weight_.size(); ++row)
      if (c_weight_[row] > 0) c_rows_.push_back(static_cast<Index>(row));
  }

  [[nodiscard]] Rows factual() const {
    Rows c = pairs()[0].c;
    c.subset = c_rows_;
    return c;
  }

  [[nodiscard]] Matrix pairs_hessian(const Vector& theta, const Exec& exec) const {
    const LinearHead& head = *problem_.head->as_linear();
    Rows c = factual();
    c.weight = c_weight_;
    Matrix H = hessian(head, c, theta,
                       {.l2 = problem_.l2, .rows_in_mean = n_, .gauge = true}, exec);
    for (std::size_t a = 0; a < cbar_weight_.size(); ++a) {
      // Weights are given for every row of the features; a row may stand in several pairs.
      Rows cbar = pairs()[a].cbar;
      std::vector<float> weight(internal::at(cbar.X->rows()), 0);
      for (Index i = 0; i < cbar.size(); ++i)
        weight[internal::at(cbar.row(i))] += cbar_weight_[a][internal::at(i)];
      std::vector<Index> rows;
      for (std::size_t row = 0; row < weight.size(); ++row)
        if (weight[row] > 0) rows.push_back(static_cast<Index>(row));
      cbar.weight = weight;
      cbar.subset = rows;
      H += hessian(head, cbar, theta, {.l2 = 0, .rows_in_mean = n_, .gauge = true}, exec);
    }
    return H;
  }

  // One list of rows for products: c and cbar. Networks read it dense.
  [[nodiscard]] std::unique_ptr<InverseHessian> of_pair_rows(const Vector& theta,
                                                             const Exec& exec) const {
    if (both_ == nullptr) {
      std::vector<Rows> lists{factual()};
      for (const Index row : c_rows_) both_weight_.push_back(c_weight_[internal::at(row)]);
      for (std::size_t a = 0; a < cbar_weight_.size(); ++a) {
        lists.push_back({.X = pairs()[a].cbar.X,
                         .y = {},
                         .weight = {},
                         .subset = pairs()[a].cbar.subset});
        both_weight_.insert(both_weight_.end(), cbar_weight_[a].begin(),
                            cbar_weight_[a].end());
      }
      both_ = stack_rows(lists, !problem_.head->linear());
    }
    CurvatureOptions how = options();
    how.rows_in_mean = n_;
    how.damping.external = true;
    const Rows both{.X = both_.get(), .y = {}, .weight = both_weight_, .subset = {}};
    return make_inverse_hessian(*problem_.head, both, theta, how, exec);
  }

  const HeadProblem& problem_;
  bool from_train_;
  Solver solver_;
  double n_ = 0;
  std::vector<Index> c_rows_;
  std::vector<float> c_weight_;                  // per row of the features
  std::vector<std::vector<float>> cbar_weight_;  // per pair of each attribute
  // Networks and large heads: both sides of all pairs as one list, made when it is first
  // needed.
  mutable std::unique_ptr<Features> both_;
  mutable std::vector<float> both_weight_;
};

// ---- What a step takes out of the training data and what it puts in

// step: the edit pairs. remove: training rows. replace: training rows and their flips.
struct RowExchange {
  Index K = 0;
  std::vector<Index> rows = {};  // remove
  KeptPairs kept = {};           // replace

  [[nodiscard]] Vector gradient(const HeadProblem& problem, const Vector& theta,
                                const Exec& exec) const {
    if (K == 0) return unlearn_gradient(*problem.head, theta, problem.edit.pairs, exec);
    if (!kept.sets.empty()) return unlearn_gradient(*problem.head, theta, kept.sets, exec);
    Rows out = problem.train->rows;
    out.subset = rows;
    return unlearn_gradient(*problem.head, theta, out, exec);
  }
};

struct RowExchanges {
  std::vector<RowExchange> all;           // K ascending
  double relative_gradient = kUndefined;  // of the head, where rows were ranked
};

// Training rows ranked by the predicted change of the mean flip gap of the repaired
// attributes on the edit part.
InfluenceResult rank_rows(const HeadProblem& problem, const RepairOptions& options,
                          const Exec& exec) {
  const auto measure = make_measure("co");
  std::vector<BiasTarget> targets;
  for (const PairSet& set : problem.edit.pairs)
    targets.push_back(
        {.measure = measure.get(), .data = {.pairs = &set, .rows = {}, .group = {}}});
  InfluenceOptions how;
  how.curvature.l2 = problem.l2;
  how.curvature.solver = options.newton.solver;
  return influence(*problem.head, problem.train->rows, problem.theta, targets, how, exec);
}

// 10, 30, 100, ... up to a tenth of the rows, and what was asked for.
std::vector<Index> row_counts(Index rows, const RepairOptions& options,
                              const SharedFit& shared) {
  std::vector<Index> counts;
  for (const Candidate& one : shared.wanted)
    if (counts.empty() || counts.back() != one.K) counts.push_back(one.K);
  if (!shared.empty()) return counts;
  if (options.newton.rows > 0) {
    counts.push_back(options.newton.rows);
  } else {
    const Index most = std::max<Index>(1, rows / 10);
    for (Index k = 10; k <= most; k *= 10) {
      counts.push_back(k);
      if (3 * k <= most) counts.push_back(3 * k);
    }
    if (counts.empty()) counts.push_back(most);
  }
  if (options.at.rows &&
      std::find(counts.begin(), counts.end(), *options.at.rows) == counts.end())
    counts.push_back(*options.at.rows);
  std::sort(counts.begin(), counts.end());
  return counts;
}

// At most `wanted`, fewer where there are not so many. A number that was asked for must
// be reached, though not without a fold.
Index taken(Index wanted, Index available, const RepairOptions& options,
            const SharedFit& shared) {
  const bool asked =
      shared.empty() && (options.newton.rows == wanted || options.at.rows == wanted);
  if (available > 0 && (wanted <= available || !asked)) return std::min(wanted, available);
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: {} training rows raise the flip gap, {} are asked for",
                          to_string(options.method), available, wanted),
              "ask for fewer with --rows, or use --method step, which needs no such rows");
}

RowExchanges make_row_exchanges(const HeadProblem& problem, const RepairOptions& options,
                                const SharedFit& shared, const Exec& exec) {
  RowExchanges exchanges;
  if (options.method == RepairMethod::step) {
    exchanges.all.emplace_back();
    return exchanges;
  }
  const InfluenceResult ranked = rank_rows(problem, options, exec);
  exchanges.relative_gradient = ranked.relative_gradient;
  const Vector change = ranked.change.rowwise().mean();
  const auto counts = row_counts(change.size(), options, shared);
  const std::vector<Index> harmful =
      most_harmful({change.data(), static_cast<std::size_t>(change.size())}, counts.back());
  for (const Index count : counts) {
    RowExchange exchange;
    exchange.K = taken(count, static_cast<Index>(harmful.size()), options, shared);
    const bool same = !exchanges.all.empty() && exchanges.all.back().K == exchange.K;
    if (same && shared.empty()) break;  // without a fold: one for each setting
    exchange.rows.assign(harmful.begin(), harmful.begin() + exchange.K);
    // The ranking decides which rows are in. Sums go in the file's order.
    std::sort(exchange.rows.begin(), exchange.rows.end());
    if (options.method == RepairMethod::replace)
      exchange.kept = problem.replaced(exchange.rows, exec);
    exchanges.all.push_back(std::move(exchange));
  }
  return exchanges;
}

// ---- The steps

constexpr int kBelowRemoval = 4;  // powers of 2 below 1/n that are tried

// The scales that are tried: powers of 2 from well below 1/n, where a step is what removing
// the rows would do, up to 1, the equations as printed.
std::vector<double> scales(const RepairOptions& options, double n,
                           const SharedFit& shared) {
  std::vector<double> all;
  for (const Candidate& one : shared.wanted)
    if (one.K == shared.wanted[0].K) all.push_back(one.s);
  if (!shared.empty()) return all;
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

void add_inverse(const InverseSummary& one, InverseSummary& all) {
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
  Steps(const HeadProblem& problem, const RepairOptions& options, const SharedFit& shared,
        const Exec& exec)
      : problem_(problem),
        options_(options),
        shared_(shared),
        exec_(exec),
        curvature_(problem, options) {}

  Candidates run() {
    const RowExchanges exchanges = make_row_exchanges(problem_, options_, shared_, exec_);
    candidates_.relative_gradient = exchanges.relative_gradient;
    const std::vector<double> all = scales(options_, curvature_.rows(), shared_);
    candidates_.solve.converged = true;
    first_ = curvature_.at(problem_.theta, exec_);
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
  // One solve serves all scales.
  void add_candidates(const RowExchange& exchange, const std::vector<double>& all) {
    const UnlearnDirection direction =
        unlearn_direction(exchange.gradient(problem_, problem_.theta, exec_), *first_);
    add_inverse(direction.solve, candidates_.solve);
    for (const double s : all) {
      Candidate candidate;
      candidate.kind = to_string(options_.method);
      candidate.s = s;
      candidate.K = exchange.K;
      candidate.theta = after_steps(exchange, s, direction);
      candidates_.all.push_back(std::move(candidate));
    }
  }

  // `refresh` steps of s / refresh each, with H and g at the parameters that the last one
  // reached.
  Vector after_steps(const RowExchange& exchange, double s, const UnlearnDirection& first) {
    const UnlearnOptions step{.step_scale = s / options_.newton.refresh};
    Vector theta = first.step(problem_.theta, step.step_scale);
    for (int k = 1; k < options_.newton.refresh; ++k) {
      const Vector g = exchange.gradient(problem_, theta, exec_);
      const UnlearnResult next = newton_step(theta, g, *curvature_.at(theta, exec_), step);
      add_inverse(next.summary.solve, candidates_.solve);
      theta = next.theta;
    }
    return theta;
  }

  const HeadProblem& problem_;
  const RepairOptions& options_;
  const SharedFit& shared_;
  const Exec& exec_;
  StepCurvature curvature_;
  std::unique_ptr<InverseHessian> first_;
  Candidates candidates_;
};

}  // namespace

bool hessian_from_train(const HeadProblem& problem, const RepairOptions& options) {
  return problem.train.has_value() && options.hessian != HessianRows::data;
}

Candidates newton_candidates(const HeadProblem& problem, const RepairOptions& options,
                             const SharedFit& shared, const Exec& exec) {
  return Steps(problem, options, shared, exec).run();
}

}  // namespace fmd::internal
