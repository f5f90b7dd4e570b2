#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "baselines/post_rows.h"
#include "core/check.h"

namespace fmd {
namespace {

constexpr const char* kWhere = "reject option";

// Scores of one group and label, ascending.
using Sorted = std::vector<double>;

Index above(const Sorted& scores, double limit) {
  return scores.end() - std::upper_bound(scores.begin(), scores.end(), limit);
}

// Favourable answers of a group by label, and its rows.
struct Counts {
  double tp = 0, fp = 0, positives = 0, negatives = 0;
  [[nodiscard]] double selection_rate() const {
    return (tp + fp) / (positives + negatives);
  }
  [[nodiscard]] double tpr() const { return tp / positives; }
  [[nodiscard]] double fpr() const { return fp / negatives; }
};

enum class Metric { statistical_parity, average_odds, equal_opportunity };

Metric parse_metric(const std::string& name) {
  if (name == "statistical_parity") return Metric::statistical_parity;
  if (name == "average_odds") return Metric::average_odds;
  if (name == "equal_opportunity") return Metric::equal_opportunity;
  throw Error(ErrorKind::bad_option, fmt::format("{}: there is no metric {}", kWhere, name),
              "metrics: statistical_parity, average_odds, equal_opportunity");
}

double value_of(Metric metric, const Counts& u, const Counts& p) {
  switch (metric) {
    case Metric::statistical_parity:
      return u.selection_rate() - p.selection_rate();
    case Metric::average_odds:
      return 0.5 * ((u.fpr() - p.fpr()) + (u.tpr() - p.tpr()));
    case Metric::equal_opportunity:
      return u.tpr() - p.tpr();
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// numpy.linspace to the bit, so that ties fall as they do there.
double spaced(double low, double high, Index count, Index k) {
  if (count > 1 && k == count - 1) return high;
  const double step = count > 1 ? (high - low) / static_cast<double>(count - 1) : 0;
  const double shift = static_cast<double>(k) * step;
  return shift + low;
}

void validate(const RejectOptions& o) {
  require_option(o.low >= 0 && o.low < o.high, kWhere, "low", o.low, ">= 0 and below high");
  require_option(o.high <= 1, kWhere, "high", o.high, "at most 1");
  require_option(o.thresholds >= 1, kWhere, "thresholds", o.thresholds, ">= 1");
  require_option(o.margins >= 1, kWhere, "margins", o.margins, ">= 1");
  require_option(o.lower <= o.upper, kWhere, "lower", o.lower, "at most upper");
  require_option(o.privileged == 0 || o.privileged == 1, kWhere, "privileged", o.privileged,
                 "0 or 1");
}

class Grid {
 public:
  Grid(const PostRows& rows, const RejectOptions& o)
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
      const bool labels = metric_ != Metric::statistical_parity;
      if (scores_[g][0].empty() && scores_[g][1].empty())
        throw_empty(kWhere, number, "any label");
      if (labels && scores_[g][1].empty())
        throw_empty(kWhere, number, "a favourable label");
      if (metric_ == Metric::average_odds && scores_[g][0].empty())
        throw_empty(kWhere, number, "an unfavourable label");
    }
    for (std::size_t label = 0; label < 2; ++label)
      if (scores_[0][label].empty() && scores_[1][label].empty()) {
        throw Error(ErrorKind::bad_data,
                    fmt::format("{}: all labels are {}", kWhere,
                                label == 0 ? "favourable" : "unfavourable"));
      }
  }

  // Metric and balanced accuracy of one cell.
  [[nodiscard]] RejectOption cell(double threshold, double margin) const {
    const Counts u = counts(1 - privileged_, threshold - margin);
    const Counts p = counts(privileged_, threshold + margin);
    const Counts other = counts(2, threshold);
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
  [[nodiscard]] Counts counts(std::size_t group, double limit) const {
    const auto& [unfavorable, favorable] = scores_[group];
    return {static_cast<double>(above(favorable, limit)),
            static_cast<double>(above(unfavorable, limit)),
            static_cast<double>(favorable.size()), static_cast<double>(unfavorable.size())};
  }

  Metric metric_;
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
  require_post_rows(kWhere, rows, 2);
  const Grid grid(rows, options);
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

}  // namespace fmd
