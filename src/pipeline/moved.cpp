#include "pipeline/moved.h"

#include <algorithm>
#include <cmath>

namespace fmd::internal {
namespace {

std::vector<GroupMove> decisions_moved(const Scored& before, const Scored& after,
                                       const Study& study) {
  std::vector<GroupMove> moves;
  if (before.favorable < 0) return moves;
  for (const Attribute& attribute : study.attributes) {
    std::vector<GroupMove> groups(attribute.values.size());
    std::vector<Index> yes_before(groups.size()), yes_after(groups.size());
    for (std::size_t i = 0; i < attribute.code.size(); ++i) {
      if (attribute.code[i] < 0) continue;
      const auto g = static_cast<std::size_t>(attribute.code[i]);
      const bool was = before.decision[i] == before.favorable;
      const bool is = after.decision[i] == after.favorable;
      ++groups[g].rows;
      yes_before[g] += was;
      yes_after[g] += is;
      groups[g].gained += is && !was;
      groups[g].lost += was && !is;
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      groups[g].attribute = attribute.name;
      groups[g].group = attribute.values[g];
      if (groups[g].rows > 0) {
        const double n = static_cast<double>(groups[g].rows);
        groups[g].rate_before = static_cast<double>(yes_before[g]) / n;
        groups[g].rate_after = static_cast<double>(yes_after[g]) / n;
      }
      moves.push_back(groups[g]);
    }
  }
  return moves;
}

// The flip gap co of one pair: of the label's class where there are more than two.
double flip_gap(const PairScores& s, Index i) {
  if (s.p.cols() == 2) return (s.p.row(i) - s.pbar.row(i)).cwiseAbs().sum() / 2;
  const Index label = s.y[static_cast<std::size_t>(i)];
  return std::abs(s.p(i, label) - s.pbar(i, label));
}

// The flip gap of an attribute that is not repaired: the mean over all values, and from the
// reference to the largest other group, which is what the screen shows.
void gaps_moved(const Model& before, const Model& after, const Study& study, std::size_t a,
                const AuditOptions& options, const Exec& exec, const FoldModels* folds,
                std::vector<MeasureMove>& moves) {
  const StudyPairs pairs = make_flip_pairs(before, study, a, {});
  const PairScores was = score_pairs(before, study, pairs, exec);
  const PairScores is = folds == nullptr ? score_pairs(after, study, pairs, exec)
                                         : score_pairs(*folds, study, pairs, exec);
  const auto add = [&](const Vector& old_gaps, const Vector& new_gaps,
                       const std::string& about) {
    Matrix statistics(old_gaps.size(), 3);
    statistics << old_gaps, new_gaps, new_gaps - old_gaps;
    const Matrix sums = bootstrap_sums(statistics, options.replicates, exec) /
                        static_cast<double>(old_gaps.size());
    const auto interval = [&](Index k) {
      return percentile(statistics.col(k).mean(), {sums.col(k).begin(), sums.col(k).end()},
                        options.confidence);
    };
    MeasureMove move{study.attributes[a].name,
                     "co",
                     about,
                     interval(0),
                     interval(1),
                     interval(2),
                     false};
    move.worse = move.change.low > 0;
    moves.push_back(std::move(move));
  };
  add(unit_gaps(was, "co"), unit_gaps(is, "co"), "");
  if (study.attributes[a].values.size() <= 2) return;
  const std::int32_t from = std::max(0, study.attributes[a].reference);
  const std::int32_t to = from == 0 ? 1 : 0;
  std::vector<double> old_gaps, new_gaps;
  for (std::size_t i = 0; i < was.from.size(); ++i) {
    if (was.from[i] != from || was.to[i] != to) continue;
    const auto at = static_cast<Index>(i);
    old_gaps.push_back(flip_gap(was, at));
    new_gaps.push_back(flip_gap(is, at));
  }
  if (old_gaps.empty()) return;
  const auto& values = study.attributes[a].values;
  add(Eigen::Map<const Vector>(old_gaps.data(), static_cast<Index>(old_gaps.size())),
      Eigen::Map<const Vector>(new_gaps.data(), static_cast<Index>(new_gaps.size())),
      values[static_cast<std::size_t>(from)] + " -> " +
          values[static_cast<std::size_t>(to)]);
}

// Group differences, the reference against the largest other group, before and after.
void differences_moved(const Scored& before, const Scored& after, const Study& study,
                       std::size_t a, const AuditOptions& options, const Exec& exec,
                       std::vector<MeasureMove>& moves) {
  const Attribute& attribute = study.attributes[a];
  const int first = std::max(0, attribute.reference);
  const int second = first == 0 ? 1 : 0;
  const auto report_of = [&](const Scored& scored) {
    return group_report(scored, attribute.name, attribute.values, attribute.code,
                        {.confidence = options.confidence,
                         .replicates = 0,
                         .min_rows = 1,
                         .min_label = 1,
                         .reference = first,
                         .by_name = false},
                        exec);
  };
  const GroupReport was = report_of(before), is = report_of(after);
  const std::pair<const char*, const char*> kRates[] = {
      {"demographic_parity", "selection_rate"}, {"equal_opportunity", "tpr"}};
  for (const auto& names : kRates) {
    const char* const measure = names.first;
    const char* const rate = names.second;
    MeasureMove move;
    move.attribute = attribute.name;
    move.measure = measure;
    move.about = attribute.values[static_cast<std::size_t>(first)] + " - " +
                 attribute.values[static_cast<std::size_t>(second)];
    const auto difference = [&](const GroupReport& report) {
      const GroupMeasure* found = report.find(measure);
      if (found == nullptr) return Interval{};
      for (const Comparison& c : found->comparisons)
        if (c.second == second) return c.difference;
      return Interval{};
    };
    move.before = difference(was);
    move.after = difference(is);
    if (!move.before.defined() || !move.after.defined()) continue;
    move.change =
        group_difference_change(before, after, attribute.code, first, second, rate,
                                options.confidence, options.replicates, exec);
    // Worse = further from 0, beyond the interval of the paired change.
    const bool up = move.after.value > 0;
    move.worse = std::abs(move.after.value) > std::abs(move.before.value) &&
                 (up ? move.change.low > 0 : move.change.high < 0);
    moves.push_back(std::move(move));
  }
}

// How well the score separates the attribute's reference value from the other values.
void auc_moved(const Scored& before, const Scored& after, const Attribute& attribute,
               std::vector<MeasureMove>& moves) {
  if (before.favorable < 0) return;
  const int reference = std::max(0, attribute.reference);
  const auto area = [&](const Scored& scored) {
    std::vector<double> scores;
    std::vector<bool> positive;
    for (std::size_t i = 0; i < attribute.code.size(); ++i) {
      if (attribute.code[i] < 0) continue;
      scores.push_back(scored.p(static_cast<Index>(i), scored.favorable));
      positive.push_back(attribute.code[i] == reference);
    }
    return auc(scores, positive);
  };
  MeasureMove move;
  move.attribute = attribute.name;
  move.measure = "auc_of_attribute";
  move.about = attribute.values[static_cast<std::size_t>(reference)];
  move.before.value = area(before);
  move.after.value = area(after);
  moves.push_back(std::move(move));
}

std::vector<InputMove> inputs_moved(const Model& before, const Model& after) {
  const Index d = before.head->inputs();
  const ColumnMap* columns = before.backbone->columns();
  if (!before.head->linear() || columns == nullptr)
    return {};  // weights above a hidden layer belong to no input
  const int output =
      before.head->outputs() == 1 ? 0 : std::max(0, before.task.favorable_class());
  const double sign =
      before.head->outputs() == 1 && before.task.favorable_class() == 0 ? -1 : 1;
  const std::vector<std::string>& names = columns->feature_names;
  std::vector<InputMove> moves;
  for (Index j = 0; j < d; ++j) {
    const Index at = before.head->as_linear()->weight(output, j);
    if (at < 0) continue;
    moves.push_back({names[static_cast<std::size_t>(j)], sign * before.theta[at],
                     sign * after.theta[at]});
  }
  std::stable_sort(moves.begin(), moves.end(), [](const InputMove& x, const InputMove& y) {
    return std::abs(x.after - x.before) > std::abs(y.after - y.before);
  });
  moves.resize(std::min<std::size_t>(moves.size(), 8));
  return moves;
}

}  // namespace

Moved what_moved(const Model& before, const Model& after, const Study& study,
                 const std::vector<std::string>& repaired, const AuditOptions& options,
                 const Exec& exec, const FoldModels* folds) {
  Moved moved;
  const Scored was = score(before, study, {}, exec);
  const Scored is =
      folds == nullptr ? score(after, study, {}, exec) : score(*folds, study, exec);
  moved.groups = decisions_moved(was, is, study);
  for (std::size_t a = 0; a < study.attributes.size(); ++a) {
    const bool target = std::find(repaired.begin(), repaired.end(),
                                  study.attributes[a].name) != repaired.end();
    if (!target && study.reads[a] == Reads::yes && study.attributes[a].flips())
      gaps_moved(before, after, study, a, options, exec, folds, moved.measures);
    differences_moved(was, is, study, a, options, exec, moved.measures);
    auc_moved(was, is, study.attributes[a], moved.measures);
  }
  moved.inputs = inputs_moved(before, after);
  return moved;
}

}  // namespace fmd::internal
