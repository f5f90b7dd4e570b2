#include "fmd/baselines/postprocess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "baselines/post_rows.h"
#include "core/check.h"
#include "core/index.h"
#include "fmd/core/error.h"

namespace fmd {

// ---- Equalised odds

namespace {

constexpr double kOddsTolerance = 1e-11;

// keep_0, grant_0, keep_1, grant_1.
using OddsPoint = std::array<double, 4>;

struct OddsProgram {
  OddsPoint cost{};
  OddsPoint tpr{}, fpr{};  // the two equations: their products with a point are 0
  OddsPoint moved{};       // share of all rows that a unit of change in each unknown moves
};

struct OddsCounts {
  double positives = 0, negatives = 0, tp = 0, fp = 0;
};

OddsProgram make_program(const PostRows& rows, const std::vector<std::uint8_t>& decided) {
  OddsCounts groups[2];
  for (Index i = 0; i < rows.size(); ++i) {
    const std::int32_t g = rows.group[at(i)];
    if (g < 0) continue;
    OddsCounts& r = groups[g];
    (rows.favorable[at(i)] ? r.positives : r.negatives) += 1;
    if (decided[at(i)]) (rows.favorable[at(i)] ? r.tp : r.fp) += 1;
  }
  OddsProgram p;
  for (std::size_t g = 0; g < 2; ++g) {
    const OddsCounts& r = groups[g];
    const auto number = static_cast<Index>(g);
    if (r.positives == 0) throw_empty("equalized odds", number, "a favourable label");
    if (r.negatives == 0) throw_empty("equalized odds", number, "an unfavourable label");
    const double tpr = r.tp / r.positives, fpr = r.fp / r.negatives;
    const double fnr = (r.positives - r.tp) / r.positives;
    const double tnr = (r.negatives - r.fp) / r.negatives;
    const double sign = g == 0 ? 1 : -1;
    p.cost[2 * g] = fpr - tpr;
    p.cost[2 * g + 1] = tnr - fnr;
    p.tpr[2 * g] = sign * tpr;
    p.tpr[2 * g + 1] = sign * fnr;
    p.fpr[2 * g] = sign * fpr;
    p.fpr[2 * g + 1] = sign * tnr;
    p.moved[2 * g] = r.tp + r.fp;
    p.moved[2 * g + 1] = r.positives + r.negatives - r.tp - r.fp;
  }
  return p;
}

double dot(const OddsPoint& a, const OddsPoint& b) {
  double sum = 0;
  for (std::size_t j = 0; j < 4; ++j) sum += a[j] * b[j];
  return sum;
}

// Fills the unknowns i and j (i == j: only this one) so that the equations hold, given the
// others. Returns false where they are not determined.
bool complete(const OddsProgram& p, std::size_t i, std::size_t j, OddsPoint& x) {
  x[i] = x[j] = 0;
  const double a = -dot(p.tpr, x), b = -dot(p.fpr, x);
  if (i == j) {
    const double size = p.tpr[i] * p.tpr[i] + p.fpr[i] * p.fpr[i];
    if (size == 0) return false;
    x[i] = (a * p.tpr[i] + b * p.fpr[i]) / size;
    return true;
  }
  const double determinant = p.tpr[i] * p.fpr[j] - p.tpr[j] * p.fpr[i];
  if (std::abs(determinant) < 1e-14) return false;
  x[i] = (a * p.fpr[j] - b * p.tpr[j]) / determinant;
  x[j] = (b * p.tpr[i] - a * p.fpr[i]) / determinant;
  return true;
}

bool feasible(const OddsProgram& p, OddsPoint& x) {
  for (double& value : x) {
    if (value < -kOddsTolerance || value > 1 + kOddsTolerance) return false;
    value = std::min(1.0, std::max(0.0, value));
  }
  return std::abs(dot(p.tpr, x)) <= kOddsTolerance &&
         std::abs(dot(p.fpr, x)) <= kOddsTolerance;
}

// Every vertex of the feasible set. Two, one or none of the unknowns are inside their
// range, as many as the equations determine. The others are 0 or 1.
std::vector<OddsPoint> vertices(const OddsProgram& p) {
  std::vector<OddsPoint> found;
  for (unsigned corner = 0; corner < 16; ++corner) {
    OddsPoint bounds{};
    for (std::size_t k = 0; k < 4; ++k) bounds[k] = corner >> k & 1U;
    OddsPoint x = bounds;
    if (feasible(p, x)) found.push_back(x);
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = i; j < 4; ++j) {
        x = bounds;
        if (complete(p, i, j, x) && feasible(p, x)) found.push_back(x);
      }
  }
  return found;
}

double changed(const OddsProgram& p, const OddsPoint& x) {
  double sum = 0;
  for (std::size_t j = 0; j < 4; ++j) sum += p.moved[j] * (j % 2 == 0 ? 1 - x[j] : x[j]);
  return sum;
}

bool apart(const OddsPoint& a, const OddsPoint& b) {
  for (std::size_t j = 0; j < 4; ++j)
    if (std::abs(a[j] - b[j]) > 1e-9) return true;
  return false;
}

}  // namespace

EqualizedOdds fit_equalized_odds(const PostRows& rows,
                                 const std::vector<std::uint8_t>& decided) {
  require_post_rows("equalized odds", rows, 2);
  require_size("equalized odds", "decided", std::ssize(decided), rows.size());
  const OddsProgram p = make_program(rows, decided);
  const std::vector<OddsPoint> all = vertices(p);  // never empty: all 0 is one of them
  double least = dot(p.cost, all[0]);
  for (const OddsPoint& x : all) least = std::min(least, dot(p.cost, x));
  EqualizedOdds result;
  result.objective = least;
  const OddsPoint* best = nullptr;
  for (const OddsPoint& x : all) {
    if (dot(p.cost, x) > least + kOddsTolerance) continue;
    if (best != nullptr && apart(*best, x)) result.unique = false;
    if (best == nullptr || changed(p, x) < changed(p, *best)) best = &x;
  }
  for (std::size_t g = 0; g < 2; ++g) {
    result.keep[g] = (*best)[2 * g];
    result.grant[g] = (*best)[2 * g + 1];
  }
  return result;
}

// ---- Calibrated equalised odds

namespace {

struct CostSums {
  double positives = 0, negatives = 0;
  double score_negatives = 0, miss_positives = 0;  // sums of score, and of 1 - score
};

double cost_of(const std::string& kind, double fpr, double fnr, double base_rate) {
  if (kind == "fpr") return fpr;
  if (kind == "fnr") return fnr;
  return 0.5 * fpr * (1 - base_rate) + 0.5 * fnr * base_rate;
}

}  // namespace

double CalibratedOdds::score(double score, std::int32_t group) const {
  if (group < 0) return score;
  const double mixed = share(group);
  return (1 - mixed) * score + mixed * base_rate[group];
}

CalibratedOdds fit_calibrated_odds(const PostRows& rows, const std::string& cost) {
  constexpr const char* kWhere = "calibrated odds";
  if (cost != "fpr" && cost != "fnr" && cost != "weighted") {
    throw Error(ErrorKind::bad_option, fmt::format("{}: there is no cost {}", kWhere, cost),
                "costs: fpr, fnr, weighted");
  }
  require_post_rows(kWhere, rows, 2);
  CostSums sums[2];
  for (Index i = 0; i < rows.size(); ++i) {
    const std::int32_t g = rows.group[at(i)];
    if (g < 0) continue;
    CostSums& s = sums[g];
    if (rows.favorable[at(i)]) {
      s.positives += 1;
      s.miss_positives += 1 - rows.score[at(i)];
    } else {
      s.negatives += 1;
      s.score_negatives += rows.score[at(i)];
    }
  }
  CalibratedOdds result;
  for (std::size_t g = 0; g < 2; ++g) {
    const CostSums& s = sums[g];
    const auto number = static_cast<Index>(g);
    if (s.positives == 0) throw_empty(kWhere, number, "a favourable label");
    if (s.negatives == 0) throw_empty(kWhere, number, "an unfavourable label");
    const double b = s.positives / (s.positives + s.negatives);
    result.base_rate[g] = b;
    result.cost[g] =
        cost_of(cost, s.score_negatives / s.negatives, s.miss_positives / s.positives, b);
    result.trivial[g] = cost_of(cost, b, 1 - b, b);
  }
  const std::size_t cheap = result.cost[0] > result.cost[1] ? 1 : 0;
  result.mix[cheap] = (result.cost[1 - cheap] - result.cost[cheap]) /
                      (result.trivial[cheap] - result.cost[cheap]);
  return result;
}

// ---- Reject option

namespace {

constexpr const char* kReject = "reject option";

// The scores of one group and label, ascending.
using Sorted = std::vector<double>;

Index above(const Sorted& scores, double limit) {
  return scores.end() - std::upper_bound(scores.begin(), scores.end(), limit);
}

// Favourable answers of a group by label, and its rows.
struct AnswerCounts {
  double tp = 0, fp = 0, positives = 0, negatives = 0;
  [[nodiscard]] double selection_rate() const {
    return (tp + fp) / (positives + negatives);
  }
  [[nodiscard]] double tpr() const { return tp / positives; }
  [[nodiscard]] double fpr() const { return fp / negatives; }
};

enum class RejectMetric { statistical_parity, average_odds, equal_opportunity };

RejectMetric parse_metric(const std::string& name) {
  if (name == "statistical_parity") return RejectMetric::statistical_parity;
  if (name == "average_odds") return RejectMetric::average_odds;
  if (name == "equal_opportunity") return RejectMetric::equal_opportunity;
  throw Error(ErrorKind::bad_option,
              fmt::format("{}: there is no metric {}", kReject, name),
              "metrics: statistical_parity, average_odds, equal_opportunity");
}

double value_of(RejectMetric metric, const AnswerCounts& u, const AnswerCounts& p) {
  switch (metric) {
    case RejectMetric::statistical_parity:
      return u.selection_rate() - p.selection_rate();
    case RejectMetric::average_odds:
      return 0.5 * ((u.fpr() - p.fpr()) + (u.tpr() - p.tpr()));
    case RejectMetric::equal_opportunity:
      return u.tpr() - p.tpr();
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// numpy.linspace to the bit, so that ties are decided as in AIF360.
double spaced(double low, double high, Index count, Index k) {
  if (count > 1 && k == count - 1) return high;
  const double step = count > 1 ? (high - low) / static_cast<double>(count - 1) : 0;
  const double shift = static_cast<double>(k) * step;
  return shift + low;
}

void validate(const RejectOptions& o) {
  require_option(o.low >= 0 && o.low < o.high, kReject, "low", o.low,
                 ">= 0 and below high");
  require_option(o.high <= 1, kReject, "high", o.high, "at most 1");
  require_option(o.thresholds >= 1, kReject, "thresholds", o.thresholds, ">= 1");
  require_option(o.margins >= 1, kReject, "margins", o.margins, ">= 1");
  require_option(o.lower <= o.upper, kReject, "lower", o.lower, "at most upper");
  require_option(o.privileged == 0 || o.privileged == 1, kReject, "privileged",
                 o.privileged, "0 or 1");
}

class RejectGrid {
 public:
  RejectGrid(const PostRows& rows, const RejectOptions& o)
      : metric_(parse_metric(o.metric)), privileged_(at(o.privileged)) {
    for (Index i = 0; i < rows.size(); ++i) {
      const std::int32_t g = rows.group[at(i)];
      scores_[g < 0 ? 2 : at(g)][rows.favorable[at(i)] ? 1 : 0].push_back(
          rows.score[at(i)]);
    }
    for (auto& group : scores_)
      for (Sorted& scores : group) std::sort(scores.begin(), scores.end());
    for (std::size_t g = 0; g < 2; ++g) {
      const auto number = static_cast<Index>(g);
      const bool labels = metric_ != RejectMetric::statistical_parity;
      if (scores_[g][0].empty() && scores_[g][1].empty())
        throw_empty(kReject, number, "any label");
      if (labels && scores_[g][1].empty())
        throw_empty(kReject, number, "a favourable label");
      if (metric_ == RejectMetric::average_odds && scores_[g][0].empty())
        throw_empty(kReject, number, "an unfavourable label");
    }
    for (std::size_t label = 0; label < 2; ++label)
      if (scores_[0][label].empty() && scores_[1][label].empty()) {
        throw Error(ErrorKind::bad_data,
                    fmt::format("{}: all labels are {}", kReject,
                                label == 0 ? "favourable" : "unfavourable"));
      }
  }

  // RejectMetric and balanced accuracy of one cell.
  [[nodiscard]] RejectOption cell(double threshold, double margin) const {
    const AnswerCounts u = counts(1 - privileged_, threshold - margin);
    const AnswerCounts p = counts(privileged_, threshold + margin);
    const AnswerCounts other = counts(2, threshold);
    const double positives = u.positives + p.positives + other.positives;
    const double negatives = u.negatives + p.negatives + other.negatives;
    const double tpr = (u.tp + p.tp + other.tp) / positives;
    const double tnr = (negatives - u.fp - p.fp - other.fp) / negatives;
    RejectOption r;
    r.threshold = threshold;
    r.margin = margin;
    r.metric = value_of(metric_, u, p);
    r.balanced_accuracy = 0.5 * (tpr + tnr);
    r.privileged = static_cast<int>(privileged_);
    return r;
  }

 private:
  [[nodiscard]] AnswerCounts counts(std::size_t group, double limit) const {
    const auto& [unfavorable, favorable] = scores_[group];
    return {static_cast<double>(above(favorable, limit)),
            static_cast<double>(above(unfavorable, limit)),
            static_cast<double>(favorable.size()), static_cast<double>(unfavorable.size())};
  }

  RejectMetric metric_;
  std::size_t privileged_;
  std::array<std::array<Sorted, 2>, 3> scores_;  // [group, or 2 = not known][label]
};

}  // namespace

bool RejectOption::yes(double score, std::int32_t group) const {
  if (group < 0) return score > threshold;
  return score > (group == privileged ? threshold + margin : threshold - margin);
}

RejectOption fit_reject_option(const PostRows& rows, const RejectOptions& options) {
  validate(options);
  require_post_rows(kReject, rows, 2);
  const RejectGrid grid(rows, options);
  RejectOption best, least;
  best.balanced_accuracy = -1;
  least.metric = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < options.thresholds; ++i) {
    const double t = spaced(options.low, options.high, options.thresholds, i);
    const double widest = t <= 0.5 ? t : 1.0 - t;
    for (Index k = 0; k < options.margins; ++k) {
      RejectOption cell = grid.cell(t, spaced(0, widest, options.margins, k));
      cell.satisfied = cell.metric >= options.lower && cell.metric <= options.upper;
      if (cell.satisfied && cell.balanced_accuracy > best.balanced_accuracy) best = cell;
      if (cell.metric < least.metric) least = cell;
    }
  }
  return best.satisfied ? best : least;
}

// ---- One threshold per group

namespace {

constexpr const char* kThresholds = "group thresholds";
constexpr Index kShares = 1000;

// A place between two different scores where a group can be divided.
struct Cut {
  double threshold;
  double selected, true_positives;  // rows at or above it
};

struct GroupCuts {
  std::vector<Cut> cuts;  // selected ascending
  double rows = 0, positives = 0;

  [[nodiscard]] double correct(const Cut& c) const {
    const double false_positives = c.selected - c.true_positives;
    return c.true_positives + (rows - positives - false_positives);
  }
};

GroupCuts make_cuts(const PostRows& rows, std::int32_t group) {
  std::vector<std::pair<double, bool>> own;
  for (Index i = 0; i < rows.size(); ++i)
    if (rows.group[at(i)] == group)
      own.emplace_back(rows.score[at(i)], rows.favorable[at(i)] != 0);
  if (own.empty()) throw_empty(kThresholds, group, "a label");
  std::sort(own.begin(), own.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  GroupCuts made;
  made.cuts.push_back({std::numeric_limits<double>::infinity(), 0, 0});
  Cut now{0, 0, 0};
  for (std::size_t i = 0; i < own.size(); ++i) {
    now.selected += 1;
    if (own[i].second) now.true_positives += 1;
    const bool last = i + 1 == own.size();
    if (!last && own[i + 1].first == own[i].first) continue;
    // Midway to the next score, or the row's own score where no number lies between.
    const double middle = last ? -std::numeric_limits<double>::infinity()
                               : own[i + 1].first + (own[i].first - own[i + 1].first) / 2;
    now.threshold = last || middle > own[i + 1].first ? middle : own[i].first;
    made.cuts.push_back(now);
  }
  made.rows = now.selected;
  made.positives = now.true_positives;
  return made;
}

// The cut whose share is nearest; of two equally near cuts the more accurate one.
const Cut& nearest(const GroupCuts& group, double share, bool among_positives) {
  const double of = among_positives ? group.positives : group.rows;
  const auto has = [&](const Cut& c) {
    return among_positives ? c.true_positives : c.selected;
  };
  const double wanted = share * of;
  const auto& cuts = group.cuts;
  const auto from = std::lower_bound(cuts.begin(), cuts.end(), wanted,
                                     [&](const Cut& c, double w) { return has(c) < w; });
  double best_distance = std::numeric_limits<double>::infinity();
  for (const auto it : {from, from == cuts.begin() ? from : from - 1})
    if (it != cuts.end())
      best_distance = std::min(best_distance, std::abs(has(*it) - wanted));
  // Several cuts have the same share of positives: the most accurate of them.
  const Cut* best = nullptr;
  const auto consider = [&](double count) {
    auto it = std::lower_bound(cuts.begin(), cuts.end(), count,
                               [&](const Cut& c, double w) { return has(c) < w; });
    for (; it != cuts.end() && has(*it) == count; ++it)
      if (best == nullptr || group.correct(*it) > group.correct(*best)) best = &*it;
  };
  for (const auto it : {from == cuts.begin() ? from : from - 1, from})
    if (it != cuts.end() && std::abs(has(*it) - wanted) == best_distance)
      consider(has(*it));
  return *best;
}

const Cut& most_accurate(const GroupCuts& group) {
  return *std::max_element(
      group.cuts.begin(), group.cuts.end(),
      [&](const Cut& a, const Cut& b) { return group.correct(a) < group.correct(b); });
}

}  // namespace

bool GroupThresholds::yes(double score, std::int32_t group) const {
  return score >= (group < 0 ? fallback : threshold[at(group)]);
}

GroupThresholds fit_group_thresholds(const PostRows& rows, Index groups,
                                     const std::string& criterion, double fallback) {
  const bool parity = criterion == "demographic_parity";
  const bool opportunity = criterion == "equal_opportunity";
  if (!parity && !opportunity && criterion != "accuracy") {
    throw Error(ErrorKind::bad_option,
                fmt::format("{}: there is no criterion {}", kThresholds, criterion),
                "criteria: demographic_parity, equal_opportunity, accuracy");
  }
  require_option(groups >= 1, kThresholds, "groups", groups, ">= 1");
  require_post_rows(kThresholds, rows, groups);
  std::vector<GroupCuts> all;
  double total = 0;
  for (Index g = 0; g < groups; ++g) {
    all.push_back(make_cuts(rows, static_cast<std::int32_t>(g)));
    if (opportunity && all.back().positives == 0)
      throw_empty(kThresholds, g, "a favourable label");
    total += all.back().rows;
  }
  GroupThresholds best;
  best.accuracy = -1;
  best.fallback = fallback;
  for (Index k = 0; k <= (criterion == "accuracy" ? 0 : kShares); ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(kShares);
    GroupThresholds now;
    double correct = 0;
    for (const GroupCuts& group : all) {
      const Cut& cut =
          parity || opportunity ? nearest(group, share, opportunity) : most_accurate(group);
      correct += group.correct(cut);
      now.threshold.push_back(cut.threshold);
    }
    if (correct / total <= best.accuracy) continue;
    best.threshold = std::move(now.threshold);
    best.accuracy = correct / total;
    best.share = parity || opportunity ? share : std::numeric_limits<double>::quiet_NaN();
  }
  return best;
}

}  // namespace fmd
