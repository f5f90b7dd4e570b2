#include "fmd/repair/choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/check.h"
#include "core/index.h"
#include "repair/cross_fit.h"
#include "repair/cross_fitted_choice.h"
#include "repair/group_targets.h"
#include "repair/leaf_repair.h"
#include "repair/measure.h"

namespace fmd {
namespace {

double mean_bias(const Candidate& candidate) {
  double sum = 0;
  for (const Interval& bias : candidate.bias) sum += bias.value;
  return sum / static_cast<double>(candidate.bias.size());
}

bool is_at(const Candidate& candidate, const CandidateAt& at) {
  return (!at.lambda || candidate.lambda == *at.lambda) &&
         (!at.s || candidate.s == *at.s) && (!at.rows || candidate.K == *at.rows) &&
         candidate.polish == at.polish.value_or(0) &&
         (!at.gamma || candidate.gamma == *at.gamma) && (!at.mu || candidate.mu == *at.mu);
}

// -1: a is worse, 1: a is better, 0: equal by all entries of the order.
int compare_figures(const ChoiceFigures& a, const ChoiceFigures& b,
                    const std::vector<Prefer>& order) {
  for (const Prefer prefer : order) {
    const double gain =
        prefer == Prefer::accuracy ? a.accuracy - b.accuracy : b.bias - a.bias;
    if (gain > 0) return 1;
    if (gain < 0) return -1;
  }
  return 0;
}

}  // namespace

int choose(std::span<const ChoiceFigures> candidates, std::span<const RuleStep> rule) {
  for (const RuleStep& step : rule) {
    int chosen = -1;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      if (!step.eligible[k]) continue;
      if (chosen < 0 ||
          compare_figures(candidates[k], candidates[static_cast<std::size_t>(chosen)],
                          step.order) > 0)
        chosen = static_cast<int>(k);
    }
    if (chosen >= 0) return chosen;
  }
  return -1;
}

void measure_candidates(const HeadProblem& problem, const RepairOptions& options,
                        const IntervalOptions& intervals, const Exec& exec,
                        std::vector<Candidate>& candidates) {
  const std::string name = chosen_measure(options, repairs_matched(problem, options));
  std::vector<const Vector*> thetas;
  for (const Candidate& candidate : candidates) thetas.push_back(&candidate.theta);
  const std::vector<ChoiceAnswers> after = answers_of_each(problem, thetas, name, exec);
  add_figures(problem, options, intervals, answers(problem, problem.theta, name, exec),
              after, exec, candidates);
}

Budget budget_of(const Candidate& candidate, const RepairOptions& options) {
  if (options.target || options.at.any()) return Budget::none;
  if (candidate.most_loss <= options.max_accuracy_loss) return Budget::proven;
  return candidate.accuracy_change.value >= -options.max_accuracy_loss ? Budget::not_proven
                                                                       : Budget::exceeded;
}

int choose(const std::vector<Candidate>& candidates, const RepairOptions& options) {
  RuleStep step, unproven, any;
  std::vector<ChoiceFigures> figures;
  for (const Candidate& one : candidates) {
    const Budget budget = budget_of(one, options);
    figures.push_back({one.accuracy.value, mean_bias(one)});
    any.eligible.push_back(one.keeps_rules);
    unproven.eligible.push_back(one.lowers_bias && one.keeps_rules &&
                                budget == Budget::not_proven);
    step.eligible.push_back(options.at.any()
                                ? is_at(one, options.at)
                                : one.lowers_bias && one.keeps_rules && one.keeps_flips &&
                                      (options.target ? one.target == Verdict::pass
                                                      : budget == Budget::proven));
  }
  any.order = unproven.order = step.order = {Prefer::less_bias};
  if (options.target && !options.at.any())
    step.order = {Prefer::accuracy, Prefer::less_bias};
  std::vector<RuleStep> rule = {std::move(step)};
  if (!options.strict) rule.push_back(std::move(unproven));
  if (options.best_effort && !options.at.any()) rule.push_back(std::move(any));
  return choose(figures, rule);
}

namespace {

// Where fits take long, so many places along the grid are cross-fitted at first.
constexpr std::size_t kFirstLambdas = 8;
// Dense features of so many numbers in all pairs make them take long.
constexpr Index kManyNumbers = 10'000'000;

bool takes_long(const HeadProblem& problem, const RepairOptions& options) {
  if (!problem.head->linear()) return true;
  if (options.method != RepairMethod::solve || targets_group_gap(options) ||
      repairs_matched(problem, options))
    return false;
  Index pairs = 0;
  for (const PairSet& set : problem.edit.pairs) pairs += set.size();
  Scratch scratch;
  return pairs * problem.head->inputs() >= kManyNumbers &&
         !problem.edit.rows.block(0, scratch).sparse();
}

// Positions that are spread evenly over `count` and hold both ends, and the one asked for.
std::vector<std::size_t> spread(const std::vector<Candidate>& all,
                                const RepairOptions& options) {
  std::vector<std::size_t> positions;
  const std::size_t last = all.size() - 1, most = std::min(last, kFirstLambdas - 1);
  for (std::size_t i = 0; i <= most; ++i)
    positions.push_back(most == 0 ? 0 : (i * last + most / 2) / most);
  if (!options.at.any()) return positions;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (is_at(all[i], options.at)) return {i};
  return positions;
}

// Candidates are fitted without each fold and measured on the folds.
class CrossFittedChoice {
 public:
  CrossFittedChoice(const HeadProblem& problem, const RepairOptions& options,
                    const IntervalOptions& intervals, const Exec& exec)
      : problem_(problem),
        options_(options),
        intervals_(intervals),
        exec_(exec),
        name_(chosen_measure(options, repairs_matched(problem, options))),
        whole_(make_candidates(problem, options, exec)),
        fit_(problem, options, whole_, exec),
        before_(answers(problem, problem.theta, name_, exec)),
        after_(whole_.all.size()) {}

  FoldedChoice run() {
    const bool refines = takes_long(problem_, options_) &&
                         whole_.all.size() > kFirstLambdas &&
                         std::isfinite(whole_.all[0].lambda);
    if (refines) {
      add(spread(whole_.all, options_));
      add(around(chosen()));
    } else {
      std::vector<std::size_t> all(whole_.all.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      add(all);
    }
    const int place = chosen();
    FoldedChoice folded;
    for (const std::size_t i : measured_) {
      folded.without_fold.emplace_back();
      for (std::size_t k = 0; k < fit_.folds(); ++k)
        folded.without_fold.back().push_back(fit_.theta(k, i));
    }
    RepairChoice& choice = folded.choice;
    choice.chosen = place;
    if (place >= 0) choice.without_fold = folded.without_fold[at(place)];
    choice.candidates = std::move(whole_);
    choice.candidates.all = std::move(figures_);
    return folded;
  }

 private:
  void add(const std::vector<std::size_t>& positions) {
    if (positions.empty()) return;
    fit_.fit(positions, exec_);
    std::vector<ChoiceAnswers> added = answers(problem_, fit_, positions, name_, exec_);
    for (std::size_t k = 0; k < positions.size(); ++k)
      after_[positions[k]] = std::move(added[k]);
    measured_.insert(measured_.end(), positions.begin(), positions.end());
    std::sort(measured_.begin(), measured_.end());
    figures_.clear();
    std::vector<ChoiceAnswers> after;
    for (const std::size_t i : measured_) {
      figures_.push_back(whole_.all[i]);
      after.push_back(after_[i]);
    }
    add_figures(problem_, options_, intervals_, before_, after, exec_, figures_);
  }

  [[nodiscard]] int chosen() const { return choose(figures_, options_); }

  // The positions between the neighbours of a measured one.
  [[nodiscard]] std::vector<std::size_t> around(int place) const {
    std::vector<std::size_t> more;
    if (place < 0 || options_.at.any()) return more;
    const std::size_t k = at(place);
    const std::size_t from = measured_[k == 0 ? 0 : k - 1];
    const std::size_t to = measured_[std::min(k + 1, measured_.size() - 1)];
    for (std::size_t i = from + 1; i < to; ++i)
      if (i != measured_[k]) more.push_back(i);
    return more;
  }

  const HeadProblem& problem_;
  const RepairOptions& options_;
  const IntervalOptions& intervals_;
  const Exec& exec_;
  std::string name_;
  Candidates whole_;
  CrossFit fit_;
  ChoiceAnswers before_;
  std::vector<ChoiceAnswers> after_;   // by position in whole_
  std::vector<std::size_t> measured_;  // positions, ascending
  std::vector<Candidate> figures_;     // of these
};

}  // namespace

}  // namespace fmd

namespace fmd::internal {

FoldedChoice choose_folded(const HeadProblem& problem, const RepairOptions& options,
                           const IntervalOptions& intervals, const Exec& exec) {
  if (!problem.folds.empty())
    return CrossFittedChoice(problem, options, intervals, exec).run();
  FoldedChoice folded;
  RepairChoice& choice = folded.choice;
  choice.candidates = make_candidates(problem, options, exec);
  measure_candidates(problem, options, intervals, exec, choice.candidates.all);
  choice.chosen = choose(choice.candidates.all, options);
  return folded;
}

}  // namespace fmd::internal

namespace fmd {

namespace {

// The original's bias for each repaired attribute, as candidates are measured.
std::vector<Interval> bias_before(const HeadProblem& problem, const RepairOptions& options,
                                  const IntervalOptions& intervals, const Exec& exec) {
  std::vector<Candidate> original(1);
  original[0].theta = problem.theta;
  measure_candidates(problem, options, intervals, exec, original);
  return original[0].bias;
}

}  // namespace

RepairChoice choose_repair(const HeadProblem& problem, const RepairOptions& options,
                           const IntervalOptions& intervals, const Exec& exec) {
  if (options.only_if_over > 0) {
    RepairChoice none;
    none.small_bias = bias_before(problem, options, intervals, exec);
    if (std::all_of(
            none.small_bias.begin(), none.small_bias.end(),
            [&](const Interval& bias) { return bias.value <= options.only_if_over; }))
      return none;
  }
  if (!problem.touched.empty() && !repairs_matched(problem, options))
    return choose_leaves(problem, options, intervals, exec);
  return choose_folded(problem, options, intervals, exec).choice;
}

std::string rule_in_words(const RepairOptions& options, bool matched) {
  if (options.at.any()) return to_string(options.at) + " as asked for";
  if (options.target)
    return fmt::format("most accuracy with {}{}", to_string(*options.target),
                       targets_group_gap(options) && !options.may_use_attribute
                           ? " and no larger flip gap"
                           : "");
  return fmt::format("least {} for at most {:g} {} of accuracy",
                     matched ? "gap of soft odds" : "flip gap",
                     100 * options.max_accuracy_loss,
                     options.max_accuracy_loss == 0.01 ? "point" : "points");
}

std::string chosen_measure(const RepairOptions& options, bool matched) {
  if (options.target) {
    const std::string& measure = options.target->measure;
    return measure == "co_mean" || measure == "co_worst" ? "co" : measure;
  }
  return matched ? kOddsMeasure : "co";
}

bool repairs_matched(const HeadProblem& problem, const RepairOptions& options) {
  const auto matched = static_cast<std::size_t>(
      std::count_if(problem.repaired.begin(), problem.repaired.end(),
                    [](const RepairedAttribute& a) { return a.kind == PairKind::match; }));
  const bool odds = chosen_measure(options, matched > 0) == kOddsMeasure;
  if (matched == 0) {
    require_option(!odds, "debias", "target", kOddsMeasure,
                   "co, co_tv, flip_rate or a gap of decisions between groups where pairs "
                   "are not matched");
    require_option(!targets_group_gap(options) || options.method == RepairMethod::solve,
                   "debias", "method", to_string(options.method),
                   "solve for a target on a group gap");
    require_option((!options.at.gamma || targets_group_gap(options)) && !options.at.mu,
                   "debias", "at", to_string(options.at),
                   "lambda, s or K where pairs are not matched");
    return false;
  }
  if (matched < problem.repaired.size()) {
    throw Error(ErrorKind::bad_option,
                "debias: some of the attributes are matched and some are not",
                "repair them one after the other: --attribute NAME");
  }
  require_option(options.method == RepairMethod::solve, "debias", "method",
                 to_string(options.method), "solve on matched pairs");
  require_option(odds, "debias", "target", options.target ? options.target->measure : "",
                 "equalized_odds_soft on matched pairs");
  require_option(options.gaps.empty(), "debias", "gap", "given",
                 "left out on matched pairs: their own gaps are penalised");
  require_option(!options.at.lambda, "debias", "at", to_string(options.at),
                 "gamma=X,mu=Y on matched pairs");
  return true;
}

}  // namespace fmd
