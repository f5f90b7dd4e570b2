#include "pipeline/choice.h"

#include <fmt/format.h>

#include "fmd/metrics/interval.h"
#include "fmd/model/loss.h"
#include "pipeline/match_candidates.h"
#include "pipeline/odds_choice.h"

namespace fmd::internal {
namespace {

// Whether each row is answered correctly, and the chosen gap of each unit for every
// repaired attribute. On matched pairs the favourable score of each row stands in place
// of the gap.
struct Measured {
  Vector correct;
  std::vector<Vector> gaps;
  double log_loss = kUndefined;
};

Measured measure(const Model& model, const StudyPart& part, const std::string& name,
                 const Exec& exec) {
  const Scored scored = score(model, *part.study, part.rows, exec);
  Measured out;
  out.correct.resize(scored.rows());
  for (Index i = 0; i < scored.rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.correct[i] = scored.decision[at] == scored.y[at] ? 1 : 0;
  }
  out.log_loss = log_loss(scored);
  for (const StudyPairs& pairs : part.pairs)
    out.gaps.push_back(name == kOddsMeasure
                           ? Vector(scored.p.col(scored.favorable))
                           : unit_gaps(score_pairs(model, *part.study, pairs, exec), name));
  return out;
}

Interval mean_interval(const Vector& column, const Matrix& sums, Index at,
                       double confidence) {
  const double n = static_cast<double>(column.size());
  std::vector<double> replicates(static_cast<std::size_t>(sums.rows()));
  for (Index r = 0; r < sums.rows(); ++r)
    replicates[static_cast<std::size_t>(r)] = sums(r, at) / n;
  return percentile(column.mean(), std::move(replicates), confidence);
}

// Value of each candidate's column, and its paired change against the original's. One
// bootstrap serves all candidates, so that they are compared on the same draws.
struct Columns {
  std::vector<Interval> value, change;
};
Columns bootstrap_columns(const Vector& before, const std::vector<Vector>& after,
                          const AuditOptions& options, const Exec& exec) {
  const Index count = static_cast<Index>(after.size());
  Matrix statistics(before.size(), 2 * count);
  for (Index k = 0; k < count; ++k) {
    statistics.col(2 * k) = after[static_cast<std::size_t>(k)];
    statistics.col(2 * k + 1) = after[static_cast<std::size_t>(k)] - before;
  }
  const Matrix sums = bootstrap_sums(statistics, options.replicates, exec);
  Columns out;
  for (Index k = 0; k < count; ++k) {
    out.value.push_back(
        mean_interval(statistics.col(2 * k), sums, 2 * k, options.confidence));
    out.change.push_back(
        mean_interval(statistics.col(2 * k + 1), sums, 2 * k + 1, options.confidence));
  }
  return out;
}

Columns odds_columns(const Model& model, const StudyPart& part, std::size_t k,
                     const Vector& before, const std::vector<Vector>& after,
                     const AuditOptions& options, const Exec& exec) {
  const LargeGroups groups =
      large_groups(part.study->attributes[part.pairs[k].attribute], model.task.min_group);
  OddsRows rows;
  rows.groups = groups.count;
  for (const Index row : part.rows) {
    const auto at = static_cast<std::size_t>(row);
    rows.favorable.push_back(part.study->y[at] == model.task.favorable_class());
    rows.group.push_back(groups.code[at]);
  }
  OddsIntervals found = odds_intervals(before, after, rows, options, exec);
  return {std::move(found.value), std::move(found.change)};
}

double mean_bias(const Candidate& candidate) {
  double sum = 0;
  for (const Interval& bias : candidate.bias) sum += bias.value;
  return sum / static_cast<double>(candidate.bias.size());
}

Verdict judge_target(const Candidate& candidate, const StudyPart& part,
                     const Limit& target) {
  Verdict verdict = Verdict::pass;
  for (std::size_t k = 0; k < part.pairs.size(); ++k) {
    const std::string& name = part.study->attributes[part.pairs[k].attribute].name;
    if (!target.attribute.empty() && target.attribute != name) continue;
    const Verdict one = judge(candidate.bias[k], target.value);
    if (one == Verdict::fail) verdict = Verdict::fail;
    if (one == Verdict::unclear && verdict == Verdict::pass) verdict = Verdict::unclear;
  }
  return verdict;
}

bool is_at(const Candidate& candidate, const CandidateAt& at) {
  return (!at.lambda || candidate.lambda == *at.lambda) &&
         (!at.s || candidate.s == *at.s) && (!at.rows || candidate.K == *at.rows) &&
         (!at.gamma || candidate.gamma == *at.gamma) && (!at.mu || candidate.mu == *at.mu);
}

}  // namespace

void measure_candidates(const Model& model, const StudyPart& holdout,
                        const DebiasOptions& options, const Exec& exec,
                        std::vector<Candidate>& candidates) {
  const bool matched = repairs_matched(holdout, model.task, options);
  const std::string name = chosen_measure(options, matched);
  const Measured before = measure(model, holdout, name, exec);
  std::vector<Vector> correct;
  std::vector<std::vector<Vector>> gaps(holdout.pairs.size());
  for (Candidate& candidate : candidates) {
    Measured after = measure(with_theta(model, candidate.theta), holdout, name, exec);
    candidate.log_loss = after.log_loss;
    correct.push_back(std::move(after.correct));
    for (std::size_t a = 0; a < gaps.size(); ++a)
      gaps[a].push_back(std::move(after.gaps[a]));
  }
  const Columns accuracy = bootstrap_columns(before.correct, correct, options.audit, exec);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    candidates[k].accuracy = accuracy.value[k];
    candidates[k].accuracy_change = accuracy.change[k];
    candidates[k].lowers_bias = true;
  }
  for (std::size_t a = 0; a < gaps.size(); ++a) {
    const Columns bias =
        matched
            ? odds_columns(model, holdout, a, before.gaps[a], gaps[a], options.audit, exec)
            : bootstrap_columns(before.gaps[a], gaps[a], options.audit, exec);
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      candidates[k].bias.push_back(bias.value[k]);
      candidates[k].bias_change.push_back(bias.change[k]);
      if (!(bias.change[k].high < 0)) candidates[k].lowers_bias = false;
    }
  }
  if (!options.target) return;
  for (Candidate& candidate : candidates)
    candidate.target = judge_target(candidate, holdout, *options.target);
}

int choose(const std::vector<Candidate>& candidates, const DebiasOptions& options) {
  const auto best = [&](const auto& eligible, const auto& better) {
    int chosen = -1;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      if (!eligible(candidates[k])) continue;
      if (chosen < 0 || better(candidates[k], candidates[static_cast<std::size_t>(chosen)]))
        chosen = static_cast<int>(k);
    }
    return chosen;
  };
  const auto less_biased = [](const Candidate& a, const Candidate& b) {
    return mean_bias(a) < mean_bias(b);
  };
  int chosen = -1;
  if (options.at.any())
    return best([&](const Candidate& p) { return is_at(p, options.at); }, less_biased);
  if (options.target) {
    chosen =
        best([](const Candidate& p) { return p.lowers_bias && p.target == Verdict::pass; },
             [](const Candidate& a, const Candidate& b) {
               if (a.accuracy.value != b.accuracy.value)
                 return a.accuracy.value > b.accuracy.value;
               return mean_bias(a) < mean_bias(b);
             });
  } else {
    chosen = best(
        [&](const Candidate& p) {
          return p.lowers_bias && p.accuracy_change.value >= -options.max_accuracy_loss;
        },
        less_biased);
  }
  if (chosen < 0 && options.best_effort)
    chosen = best([](const Candidate&) { return true; }, less_biased);
  return chosen;
}

std::string rule_in_words(const DebiasOptions& options, bool matched) {
  if (options.at.any()) return to_string(options.at) + " as asked for";
  if (options.target)
    return fmt::format("most accuracy with {}", to_string(*options.target));
  return fmt::format("least {} for at most {:g} {} of accuracy",
                     matched ? "gap of soft odds" : "flip gap",
                     100 * options.max_accuracy_loss,
                     options.max_accuracy_loss == 0.01 ? "point" : "points");
}

}  // namespace fmd::internal
