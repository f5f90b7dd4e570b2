#include "pipeline/candidates.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/unlearn/simple.h"
#include "fmd/unlearn/solve.h"

namespace fmd {
namespace {

std::vector<GapPenalty> gap_penalties(const Model& model, const StudyPart& edit,
                                      const DebiasOptions& options) {
  std::vector<GapPenalty> gaps;
  for (const Limit& gap : options.gaps) {
    const Index a = edit.study->find(gap.attribute);
    if (a < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("gap {}: {} is no attribute of this task", to_string(gap),
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

std::vector<double> lambdas(const Path& path, const DebiasOptions& options) {
  std::vector<double> grid = path_lambdas(path, options.points);
  if (options.at_lambda &&
      std::find(grid.begin(), grid.end(), *options.at_lambda) == grid.end())
    grid.push_back(*options.at_lambda);
  std::sort(grid.begin(), grid.end());
  return grid;
}

// Every point of the path refined to the minimum of J. A point starts from the path's,
// moved by how far the last refined point was from its own.
void refine(const Model& model, const StudyPart& edit, const DebiasOptions& options,
            const Exec& exec, Candidates& candidates) {
  SolveOptions solve_options{.anchor = options.anchor,
                             .fit = options.fit,
                             .lambda = 0,
                             .mu = options.mu >= 0 ? options.mu : model.note.l2,
                             .gaps = gap_penalties(model, edit, options)};
  const std::vector<PairSet> sets = edit.sets();
  Vector offset = Vector::Zero(model.theta.size());
  Index done = 0;
  for (PathPoint& point : candidates.points) {
    exec.report("repairing", done++, static_cast<Index>(candidates.points.size()));
    solve_options.lambda = point.lambda;
    const Vector seed = point.theta;
    const TradeoffResult solved = solve(*model.head, model.theta, edit.view(), sets,
                                       solve_options, exec, seed + offset);
    point.theta = solved.theta;
    point.kind = "solve";
    offset = solved.theta - seed;
    candidates.residual = std::max(candidates.residual, solved.summary.gradient);
    candidates.iterations += solved.summary.iterations;
    if (solved.summary.status == SolveStatus::stopped) candidates.status = "not converged";
  }
  if (candidates.status.empty()) candidates.status = "converged";
}

// Correctness of each row and the chosen gap of each unit of every repaired attribute.
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
    out.gaps.push_back(unit_gaps(score_pairs(model, *part.study, pairs, exec), name));
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

// Value and paired change of each candidate's column against the original's, all candidates
// in one bootstrap, so that they are compared on the same draws.
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

double mean_bias(const PathPoint& point) {
  double sum = 0;
  for (const Interval& bias : point.bias) sum += bias.value;
  return sum / static_cast<double>(point.bias.size());
}

Verdict judge_target(const PathPoint& point, const StudyPart& part, const Limit& target) {
  Verdict verdict = Verdict::pass;
  for (std::size_t k = 0; k < part.pairs.size(); ++k) {
    const std::string& name = part.study->attributes[part.pairs[k].attribute].name;
    if (!target.attribute.empty() && target.attribute != name) continue;
    const Verdict one = judge(point.bias[k], target.value);
    if (one == Verdict::fail) verdict = Verdict::fail;
    if (one == Verdict::unclear && verdict == Verdict::pass) verdict = Verdict::unclear;
  }
  return verdict;
}

}  // namespace

std::vector<PairSet> StudyPart::sets() const {
  std::vector<PairSet> sets;
  for (const StudyPairs& p : pairs) sets.push_back(p.set(*study));
  return sets;
}

std::vector<Index> attribute_features(const Model& model,
                                      const std::vector<const Attribute*>& attributes) {
  std::vector<Index> features;
  for (const Attribute* attribute : attributes) {
    for (const std::string& column : attribute->columns) {
      const EncodedColumn* encoded = model.backbone->encoder().find(column);
      if (encoded == nullptr) continue;
      for (Index f = 0; f < encoded->features; ++f) features.push_back(encoded->first + f);
    }
  }
  return features;
}

Candidates make_candidates(const Model& model, const StudyPart& edit, const Matrix& H,
                           const DebiasOptions& options, const Exec& exec) {
  Candidates candidates;
  if (options.method == "average-column") {
    std::vector<const Attribute*> repaired;
    for (const StudyPairs& pairs : edit.pairs)
      repaired.push_back(&edit.study->attributes[pairs.attribute]);
    PathPoint point;
    point.lambda = std::numeric_limits<double>::infinity();
    point.kind = "average-column";
    point.theta = average_features(*model.head, model.theta, edit.view(),
                                   attribute_features(model, repaired), exec);
    candidates.points.push_back(std::move(point));
    candidates.status = "exact";
  } else {
    const Matrix G = consistency_matrix(*model.head, edit.sets(), model.theta, exec);
    candidates.path = make_path(H, G, model.theta);
    for (const double lambda : lambdas(candidates.path, options)) {
      PathPoint point;
      point.lambda = lambda;
      point.kind = "path";
      point.theta = candidates.path.theta(lambda);
      candidates.points.push_back(std::move(point));
    }
    candidates.status = "exact";
    if (options.method == "solve") {
      candidates.status.clear();
      refine(model, edit, options, exec, candidates);
    }
  }
  if (options.keep_rate) {
    const double rate = favorable_rate(model, edit, exec);
    for (PathPoint& point : candidates.points)
      point.theta = kept_rate(model, edit, point.theta, rate, exec);
  }
  return candidates;
}

void measure_candidates(const Model& model, const StudyPart& holdout,
                        const DebiasOptions& options, const Exec& exec,
                        std::vector<PathPoint>& points) {
  const std::string name = options.target ? options.target->measure : "co";
  const Measured before = measure(model, holdout, name, exec);
  std::vector<Vector> correct;
  std::vector<std::vector<Vector>> gaps(holdout.pairs.size());
  for (PathPoint& point : points) {
    Measured after = measure(with_theta(model, point.theta), holdout, name, exec);
    point.log_loss = after.log_loss;
    correct.push_back(std::move(after.correct));
    for (std::size_t a = 0; a < gaps.size(); ++a)
      gaps[a].push_back(std::move(after.gaps[a]));
  }
  const Columns accuracy = bootstrap_columns(before.correct, correct, options.audit, exec);
  for (std::size_t k = 0; k < points.size(); ++k) {
    points[k].accuracy = accuracy.value[k];
    points[k].accuracy_change = accuracy.change[k];
    points[k].lowers_bias = true;
  }
  for (std::size_t a = 0; a < gaps.size(); ++a) {
    const Columns bias = bootstrap_columns(before.gaps[a], gaps[a], options.audit, exec);
    for (std::size_t k = 0; k < points.size(); ++k) {
      points[k].bias.push_back(bias.value[k]);
      points[k].bias_change.push_back(bias.change[k]);
      if (!(bias.change[k].high < 0)) points[k].lowers_bias = false;
    }
  }
  if (!options.target) return;
  for (PathPoint& point : points)
    point.target = judge_target(point, holdout, *options.target);
}

int choose(const std::vector<PathPoint>& points, const DebiasOptions& options) {
  const auto best = [&](const auto& eligible, const auto& better) {
    int chosen = -1;
    for (std::size_t k = 0; k < points.size(); ++k) {
      if (!eligible(points[k])) continue;
      if (chosen < 0 || better(points[k], points[static_cast<std::size_t>(chosen)]))
        chosen = static_cast<int>(k);
    }
    return chosen;
  };
  const auto less_biased = [](const PathPoint& a, const PathPoint& b) {
    return mean_bias(a) < mean_bias(b);
  };
  int chosen = -1;
  if (options.at_lambda) {
    return best([&](const PathPoint& p) { return p.lambda == *options.at_lambda; },
                less_biased);
  }
  if (options.target) {
    chosen =
        best([](const PathPoint& p) { return p.lowers_bias && p.target == Verdict::pass; },
             [](const PathPoint& a, const PathPoint& b) {
               if (a.accuracy.value != b.accuracy.value)
                 return a.accuracy.value > b.accuracy.value;
               return mean_bias(a) < mean_bias(b);
             });
  } else {
    chosen = best(
        [&](const PathPoint& p) {
          return p.lowers_bias && p.accuracy_change.value >= -options.max_accuracy_loss;
        },
        less_biased);
  }
  if (chosen < 0 && options.best_effort)
    chosen = best([](const PathPoint&) { return true; }, less_biased);
  return chosen;
}

std::string rule_in_words(const DebiasOptions& options) {
  if (options.at_lambda) return fmt::format("lambda = {} as asked for", *options.at_lambda);
  if (options.target)
    return fmt::format("most accuracy with {}", to_string(*options.target));
  return fmt::format("least flip gap for at most {:g} {} of accuracy",
                     100 * options.max_accuracy_loss,
                     options.max_accuracy_loss == 0.01 ? "point" : "points");
}

}  // namespace fmd
