#include "repair/leaf_repair.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/LU>
#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/unlearn/solve.h"
#include "model/held_features.h"
#include "repair/cross_fitted_choice.h"
#include "repair/gap_penalties.h"
#include "repair/group_targets.h"
#include "repair/measure.h"
#include "repair/newton_candidates.h"
#include "repair/shared_fit.h"
#include "unlearn/polish.h"

namespace fmd::internal {
namespace {

constexpr Index kPolishSteps = 5;
constexpr double kWorthPolish = 0.001;  // of accuracy lost by the first repair
constexpr std::size_t kTries = 4;       // lambdas where the first repair keeps no rule

std::vector<std::int32_t> places(const HeadProblem& whole) {
  std::vector<std::int32_t> place(at(whole.theta.size()), -1);
  std::int32_t next = 0;
  for (const Index leaf : whole.touched) place[at(leaf)] = next++;
  return place;
}

LinearHead touched_head(const HeadProblem& whole) {
  const LinearHead& all = *whole.head->as_linear();
  LinearHeadOptions options = all.options();
  if (!options.output_of.empty()) {
    options.output_of.clear();
    for (const Index leaf : whole.touched)
      options.output_of.push_back(all.options().output_of[at(leaf)]);
  }
  return {std::ssize(whole.touched), all.outputs(), std::move(options)};
}

// Pairs of all training rows, with what they point into.
std::shared_ptr<const KeptPairs> training_pairs(const HeadProblem& problem,
                                                const Exec& exec) {
  if (!problem.train || !problem.replaced) return nullptr;
  std::vector<Index> rows;
  for (Index i = 0; i < problem.train->rows.size(); ++i)
    rows.push_back(problem.train->rows.row(i));
  KeptPairs pairs = problem.replaced(rows, exec);
  std::erase_if(pairs.sets, [](const PairSet& set) { return set.size() == 0; });
  return std::make_shared<const KeptPairs>(std::move(pairs));
}

// The rows and pairs over which all leaves are repaired, and their folds.
class LeafWork {
 public:
  LeafWork(const HeadProblem& problem, const RepairOptions& options,
           const IntervalOptions& intervals, const Exec& exec)
      : problem_(problem),
        options_(options),
        intervals_(intervals),
        exec_(exec),
        name_(chosen_measure(options, false)),
        from_train_(hessian_from_train(problem, options)),
        pairs_(repair_pairs(problem)),
        polish_(*problem.head->as_linear(),
                from_train_ ? problem.train->rows : problem.edit.rows, pairs_,
                problem.theta, problem.l2, exec) {
    for (std::size_t k = 0; k < problem.folds.size(); ++k) {
      folds_.push_back(std::make_unique<FoldProblem>(problem, k));
      out_.emplace_back(at(problem.edit.rows.X->rows()), 0);
      for (const Index row : problem.folds[k]) out_.back()[at(row)] = 1;
    }
  }

 protected:
  [[nodiscard]] UncountedRows without(std::size_t fold) const {
    return {.row = out_[fold], .of_rows = !from_train_, .sets = problem_.edit.pairs.size()};
  }

  // Of the first start with all rows, and of the others without each fold.
  [[nodiscard]] std::vector<UncountedRows> uncounted() const {
    std::vector<UncountedRows> all = {{}};
    for (std::size_t k = 0; k < folds_.size(); ++k) all.push_back(without(k));
    return all;
  }

  [[nodiscard]] std::vector<Vector> polished(std::span<const Vector> starts, double lambda,
                                             Index steps) const {
    const std::vector<UncountedRows> rows = uncounted();
    if (problem_.ordered.empty()) return polish_.run_all(starts, lambda, steps, rows);
    std::vector<Vector> ends;
    for (std::size_t i = 0; i < starts.size(); ++i)
      ends.push_back(polish_.run_ordered(starts[i], lambda, problem_.ordered, rows[i]));
    return ends;
  }

  // without: of each candidate, what came out without each fold.
  void measure(const std::vector<std::vector<Vector>>& without,
               std::vector<Candidate>& made) const {
    if (folds_.empty())
      return measure_candidates(problem_, options_, intervals_, exec_, made);
    std::vector<const FoldProblem*> folds;
    for (const auto& fold : folds_) folds.push_back(fold.get());
    std::vector<ChoiceAnswers> after;
    for (const std::vector<Vector>& thetas : without)
      after.push_back(answers(problem_, folds, thetas, name_, exec_));
    add_figures(problem_, options_, intervals_,
                answers(problem_, problem_.theta, name_, exec_), after, exec_, made);
  }

  const HeadProblem& problem_;
  const RepairOptions& options_;
  const IntervalOptions& intervals_;
  const Exec& exec_;
  std::string name_;
  bool from_train_;
  std::vector<PairSet> pairs_;
  LeafPolish polish_;
  std::vector<std::unique_ptr<FoldProblem>> folds_;
  std::vector<std::vector<char>> out_;  // of each fold: by row number
};

// The path on touched leaves that are too many for its matrices: steps of conjugate
// gradients from point to point of the grid, each from the end of the one before.
class LeafDescent : LeafWork {
 public:
  using LeafWork::LeafWork;

  FoldedChoice run() const {
    FoldedChoice folded;
    Candidates& candidates = folded.choice.candidates;
    std::vector<Vector> at_point(folds_.size() + 1, problem_.theta);
    const std::vector<double> lambdas = grid();
    for (const double lambda : lambdas) {
      exec_.report("repairing", std::ssize(candidates.all), std::ssize(lambdas));
      at_point = polish_.run_all(at_point, lambda, kDescentSteps, uncounted());
      Candidate& one = candidates.all.emplace_back();
      one.lambda = lambda;
      one.kind = to_string(RepairMethod::path);
      one.theta = at_point.front();
      folded.without_fold.emplace_back(at_point.begin() + 1, at_point.end());
    }
    const double start = polish_.gradient(problem_.theta, lambdas.back(), {}).norm();
    const double left = polish_.gradient(at_point.front(), lambdas.back(), {}).norm();
    const double residual = start > 0 ? left / start : 0;
    candidates.solve = {.converged = residual <= kConverged,
                        .residual = residual,
                        .solver = "conjugate gradients"};
    candidates.status = fmt::format("{} steps a point", kDescentSteps);
    candidates.hessian_source = from_train_ ? "train" : "edit";
    measure(folded.without_fold, candidates.all);
    folded.choice.chosen = choose(candidates.all, options_);
    if (folded.choice.chosen >= 0 && !folds_.empty())
      folded.choice.without_fold = folded.without_fold[at(folded.choice.chosen)];
    return folded;
  }

 private:
  // From where hardly a gap moves to where those of the weakest leaves are gone.
  [[nodiscard]] std::vector<double> grid() const {
    const auto [most, middle] = polish_.diagonal_ratios();
    const double bottom = std::log(1e-1 / (2 * most)), top = std::log(1e5 / (2 * middle));
    const Index points = std::min(options_.points, kDescentPoints);
    std::vector<double> lambdas;
    for (Index i = 0; i < points; ++i)
      lambdas.push_back(
          std::exp(bottom + static_cast<double>(i + 1) / static_cast<double>(points) *
                                (top - bottom)));
    const std::optional<double>& at = options_.at.lambda;
    if (at && std::find(lambdas.begin(), lambdas.end(), *at) == lambdas.end())
      lambdas.push_back(*at);
    std::sort(lambdas.begin(), lambdas.end());
    return lambdas;
  }

  static constexpr Index kDescentSteps = 25, kDescentPoints = 12;
  static constexpr double kConverged = 1e-3;  // the last point's gradient, of the first one
};

// Steps over all leaves after the choice among the touched ones.
class Polishing : LeafWork {
 public:
  using LeafWork::LeafWork;

  // Adds the polished candidates; takes one of them where the rule and the accuracy say so.
  void add(FoldedChoice& folded) const {
    std::vector<Candidate>& all = folded.choice.candidates.all;
    std::vector<Candidate> made;
    std::vector<std::vector<Vector>> without_fold;
    for (const std::size_t place : places_to_polish(folded.choice)) {
      Candidate& one = made.emplace_back();
      one.lambda = all[place].lambda;
      one.polish = options_.at.polish.value_or(kPolishSteps);
      one.kind = all[place].kind + ", polished";
      std::vector<Vector> starts = {all[place].theta};
      if (!folds_.empty()) {
        const std::vector<Vector>& others = folded.without_fold[place];
        starts.insert(starts.end(), others.begin(), others.end());
      }
      std::vector<Vector> ends = polished(starts, one.lambda, one.polish);
      one.theta = std::move(ends.front());
      ends.erase(ends.begin());
      without_fold.push_back(std::move(ends));
    }
    measure(without_fold, made);
    // Rules decide first: what the path has under them is hardly a repair.
    if (!problem_.ordered.empty()) return take_best(folded, made, without_fold);
    const int best = choose(made, options_);
    const int first = folded.choice.chosen;
    const bool takes =
        best >= 0 && (first < 0 || options_.at.any() || options_.polish == Polish::on ||
                      made[at(best)].accuracy.value >= all[at(first)].accuracy.value ||
                      (!options_.target && less_bias(made[at(best)], all[at(first)])));
    if (takes) {
      folded.choice.chosen = static_cast<int>(all.size()) + best;
      folded.choice.without_fold = without_fold[at(best)];
    }
    all.insert(all.end(), made.begin(), made.end());
  }

 private:
  void take_best(FoldedChoice& folded, const std::vector<Candidate>& made,
                 const std::vector<std::vector<Vector>>& without_fold) const {
    std::vector<Candidate>& all = folded.choice.candidates.all;
    const std::size_t first = all.size();
    all.insert(all.end(), made.begin(), made.end());
    folded.without_fold.resize(first);
    folded.without_fold.insert(folded.without_fold.end(), without_fold.begin(),
                               without_fold.end());
    folded.choice.chosen = choose(all, options_);
    if (folded.choice.chosen >= 0)
      folded.choice.without_fold = folded.without_fold[at(folded.choice.chosen)];
  }

  [[nodiscard]] static bool less_bias(const Candidate& one, const Candidate& other) {
    double difference = 0;
    for (std::size_t a = 0; a < one.bias.size(); ++a)
      difference += one.bias[a].value - other.bias[a].value;
    return difference < 0;
  }

  [[nodiscard]] std::vector<std::size_t> places_to_polish(
      const RepairChoice& choice) const {
    const std::vector<Candidate>& all = choice.candidates.all;
    std::vector<std::size_t> places;
    if (options_.at.any()) {
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].lambda == options_.at.lambda) return {i};
      return {};
    }
    // What costs too much on the path may be within the budget after the polish: so places
    // after the choice are tried too, up to the last.
    const bool goes_on = choice.chosen >= 0 && problem_.ordered.empty();
    const std::size_t first = goes_on ? at(choice.chosen) : 0;
    if (goes_on) places.push_back(first);
    const std::size_t tries = std::min(kTries, all.size() - first - (goes_on ? 1 : 0));
    for (std::size_t t = 1; t <= tries; ++t) {
      const std::size_t span = all.size() - 1 - first;
      places.push_back(goes_on ? first + (span * t + tries - 1) / tries
                               : all.size() * t / tries - 1);
    }
    return places;
  }
};

// Gaps between groups. From the repair of the flips on, the penalty gamma gap^2 is added
// for each gap, and Gauss-Newton steps over all leaves lower the whole:
//   theta = theta_flips - D y, D = M^-1 (gradients), (1 / (2 gamma) + gradients^T D) y = c,
// c the gaps as they are predicted at theta_flips. M = H + its mean diagonal + 2 lambda G:
// the ridge keeps the leaves from following single rows, and G keeps the flips together.
class GroupGaps : LeafWork {
 public:
  using LeafWork::LeafWork;

  RepairChoice run(FoldedChoice flips) const {
    require_favorable(problem_);
    RepairChoice choice;
    choice.candidates = std::move(flips.choice.candidates);
    const std::vector<Candidate> starts = std::exchange(choice.candidates.all, {});
    std::vector<Candidate>& made = choice.candidates.all;
    std::vector<std::vector<Vector>> without_fold;
    for (const std::size_t place : places(starts)) {
      const double lambda = starts[place].lambda;
      std::vector<Vector> from = {starts[place].theta};
      if (!folds_.empty()) {
        const std::vector<Vector>& others = flips.without_fold[place];
        from.insert(from.end(), others.begin(), others.end());
      }
      from = polished(from, lambda, kPolishSteps);
      std::vector<Job> jobs;
      for (const double gamma : gammas())
        for (std::size_t k = 0; k < from.size(); ++k)
          jobs.push_back(
              {.from = &from[k],
               .rows = k == 0 ? &problem_.edit.rows : &folds_[k - 1]->others.part.rows,
               .uncounted = k == 0 ? UncountedRows{} : without(k - 1),
               .gaps = penalties(gamma),
               .theta = from[k]});
      close(jobs, lambda);
      std::size_t job = 0;
      for (const double gamma : gammas()) {
        Candidate& one = made.emplace_back();
        one.lambda = lambda;
        one.gamma = gamma;
        one.kind = "path, groups";
        one.theta = std::move(jobs[job++].theta);
        auto& thetas = without_fold.emplace_back();
        for (std::size_t k = 1; k < from.size(); ++k)
          thetas.push_back(std::move(jobs[job++].theta));
      }
    }
    measure(without_fold, made);
    choice.chosen = choose(made, options_);
    choice.without_fold.clear();
    if (choice.chosen >= 0) choice.without_fold = without_fold[at(choice.chosen)];
    return choice;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> places(
      const std::vector<Candidate>& starts) const {
    if (options_.at.lambda) {
      for (std::size_t i = 0; i < starts.size(); ++i)
        if (starts[i].lambda == *options_.at.lambda) return {i};
    }
    if (options_.may_use_attribute && starts.size() > 1) return {0, starts.size() - 1};
    return {starts.size() - 1};
  }

  // With a target on a gap: weights to choose from. Otherwise NaN: the options' own.
  [[nodiscard]] std::vector<double> gammas() const {
    if (!targets_group_gap(options_)) return {kUndefined};
    if (options_.at.gamma) return {*options_.at.gamma};
    return {std::begin(kGapGammas), std::end(kGapGammas)};
  }

  // One repair of the gaps: with all rows, or without a fold.
  struct Job {
    const Vector* from = nullptr;
    const Rows* rows = nullptr;
    UncountedRows uncounted;
    std::vector<GapPenalty> gaps;
    Vector theta;
  };

  [[nodiscard]] std::vector<GapPenalty> penalties(double gamma) const {
    return std::isnan(gamma) ? solve_options(problem_, options_).gaps
                             : group_penalties(problem_, options_, gamma);
  }

  // All jobs side by side: they have as many gaps.
  void close(std::vector<Job>& jobs, double lambda) const {
    if (jobs.empty() || jobs[0].gaps.empty()) return;
    const std::size_t count = jobs[0].gaps.size();
    const double ridge = polish_.mean_diagonal();
    std::vector<UncountedRows> uncounted;
    for (const Job& job : jobs)
      for (std::size_t g = 0; g < count; ++g) uncounted.push_back(job.uncounted);
    for (int round = 0; round < kRounds; ++round) {
      exec_.report("repairing", round, kRounds);
      std::vector<Vector> gradients;
      std::vector<double> values;
      for (const Job& job : jobs)
        for (const GapPenalty& gap : job.gaps) {
          MeasureValue now = evaluate(
              *gap.measure, {.pairs = nullptr, .rows = *job.rows, .group = gap.group},
              *problem_.head, job.theta, true, exec_);
          values.push_back(now.value + now.gradient.dot(*job.from - job.theta));
          gradients.push_back(std::move(now.gradient));
        }
      const std::vector<Vector> D =
          polish_.solve_all(gradients, lambda, ridge, kGapSteps, uncounted);
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        const std::size_t first = j * count;
        const auto size = static_cast<Index>(count);
        Matrix small(size, size);
        Vector c(size);
        for (Index g = 0; g < size; ++g) {
          c[g] = values[first + at(g)];
          for (Index h = 0; h < size; ++h)
            small(g, h) = gradients[first + at(g)].dot(D[first + at(h)]);
          small(g, g) += 1 / (2 * jobs[j].gaps[at(g)].gamma);
        }
        const Vector y = small.partialPivLu().solve(c);
        jobs[j].theta = *jobs[j].from;
        for (Index g = 0; g < size; ++g) jobs[j].theta -= y[g] * D[first + at(g)];
      }
    }
  }

  static constexpr int kRounds = 3;
  static constexpr Index kGapSteps = 15;
};

bool polishes(const RepairChoice& choice, const RepairOptions& options, bool ordered) {
  const std::vector<Candidate>& all = choice.candidates.all;
  const bool lambdas = !all.empty() && std::isfinite(all[0].lambda) &&
                       std::isnan(all[0].gamma) && options.gaps.empty();
  if (options.at.any() && !options.at.polish) return false;
  if (options.polish == Polish::off || !lambdas) {
    if (options.at.polish || options.polish == Polish::on)
      throw Error(
          ErrorKind::bad_option,
          "debias: only what method solve or path finds on the flips can be polished",
          "leave --polish out");
    return false;
  }
  if (options.polish == Polish::on || options.at.polish || choice.chosen < 0 || ordered)
    return true;
  // A budget that ends the path before its last point is one that the polish may save.
  return all[at(choice.chosen)].accuracy_change.value < -kWorthPolish ||
         (!options.target && choice.chosen + 1 < std::ssize(all));
}

}  // namespace

TouchedLeaves::TouchedLeaves(const HeadProblem& whole, const Exec& exec)
    : whole_(whole), place_(places(whole)), head_(touched_head(whole)), problem_(whole) {
  problem_.head = &head_;
  problem_.theta = Vector(std::ssize(whole.touched));
  for (std::size_t j = 0; j < whole.touched.size(); ++j)
    problem_.theta[static_cast<Index>(j)] = whole.theta[whole.touched[j]];
  problem_.touched.clear();
  problem_.redraw = nullptr;
  if (whole.keeps_rules)
    problem_.keeps_rules = [this](const Vector& theta) {
      return whole_.keeps_rules(widen(theta));
    };
  hold(problem_.edit, exec);
  if (problem_.holdout.rows.X != nullptr) hold(problem_.holdout, exec);
  if (problem_.train) hold(*problem_.train, exec);
  if (whole.more_pairs) {
    auto pairs = std::make_shared<KeptPairs>(*whole.more_pairs);
    for (PairSet& set : pairs->sets) {
      hold(set.c, exec);
      hold(set.cbar, exec);
    }
    problem_.more_pairs = std::move(pairs);
  }
  if (!whole.replaced) return;
  problem_.replaced = [this](std::span<const Index> rows, const Exec& how) {
    auto owner =
        std::make_shared<std::pair<KeptPairs, std::vector<std::unique_ptr<Features>>>>();
    owner->first = whole_.replaced(rows, how);
    KeptPairs kept;
    for (PairSet set : owner->first.sets) {
      for (Rows* side : {&set.c, &set.cbar}) {
        owner->second.push_back(
            hold_features(*side->X, place_, *whole_.head->as_linear(), whole_.theta, how));
        side->X = owner->second.back().get();
      }
      kept.sets.push_back(std::move(set));
    }
    kept.owner = std::move(owner);
    return kept;
  };
}

void TouchedLeaves::hold(Rows& rows, const Exec& exec) {
  std::unique_ptr<Features>& held = held_[rows.X];
  if (held == nullptr)
    held = hold_features(*rows.X, place_, *whole_.head->as_linear(), whole_.theta, exec);
  rows.X = held.get();
}

void TouchedLeaves::hold(HeadPart& part, const Exec& exec) {
  hold(part.rows, exec);
  for (PairSet& set : part.pairs) {
    if (set.size() == 0) continue;
    hold(set.c, exec);
    hold(set.cbar, exec);
  }
}

Vector TouchedLeaves::widen(const Vector& touched) const {
  Vector all = whole_.theta;
  for (std::size_t j = 0; j < whole_.touched.size(); ++j)
    all[whole_.touched[j]] = touched[static_cast<Index>(j)];
  return all;
}

void TouchedLeaves::widen(Candidates& candidates) const {
  for (Candidate& one : candidates.all) one.theta = widen(one.theta);
  if (candidates.path.theta0.size() > 0) candidates.path_features = whole_.touched;
}

RepairMethod leaf_method(const RepairOptions& options) {
  const bool plain =
      options.fit == 0 && options.gaps.empty() && !targets_group_gap(options);
  return options.method == RepairMethod::solve && plain ? RepairMethod::path
                                                        : options.method;
}

FoldedChoice descend_leaves(const HeadProblem& touched, const RepairOptions& options,
                            const IntervalOptions& intervals, const Exec& exec) {
  return LeafDescent(touched, options, intervals, exec).run();
}

RepairChoice choose_leaves(const HeadProblem& given, const RepairOptions& options,
                           const IntervalOptions& intervals, const Exec& exec) {
  HeadProblem problem = given;
  if (!is_newton(options.method)) problem.more_pairs = training_pairs(given, exec);
  const bool gaps = targets_group_gap(options) || !options.gaps.empty();
  FoldedChoice folded;
  {
    const TouchedLeaves touched(problem, exec);
    RepairOptions first = options;
    if (options.at.polish) first.at.polish.reset();
    first.method = leaf_method(options);
    if (gaps) {  // the flips alone come first; the rule judges what follows
      first.method = RepairMethod::path;
      first.gaps.clear();
      first.target.reset();
      first.at.gamma.reset();
    }
    const bool descends = std::ssize(problem.touched) > kMostDense &&
                          first.method == RepairMethod::path && !first.keep_rate;
    folded = descends ? descend_leaves(touched.problem(), first, intervals, exec)
                      : choose_folded(touched.problem(), first, intervals, exec);
    touched.widen(folded.choice.candidates);
    for (Vector& theta : folded.choice.without_fold) theta = touched.widen(theta);
    for (std::vector<Vector>& thetas : folded.without_fold)
      for (Vector& theta : thetas) theta = touched.widen(theta);
  }
  if (gaps) return GroupGaps(problem, options, intervals, exec).run(std::move(folded));
  if (polishes(folded.choice, options, !problem.ordered.empty()))
    Polishing(problem, options, intervals, exec).add(folded);
  return std::move(folded.choice);
}

}  // namespace fmd::internal
