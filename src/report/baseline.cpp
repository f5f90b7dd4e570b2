#include "fmd/report/baseline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "fmd/metrics/group.h"

namespace fmd {
namespace {

Interval turned(const Interval& i) { return i.value < 0 ? -i : i; }

// What is compared: gaps by their size; ratios as the smaller over the larger.
Interval size_of(const AuditFigure& figure) {
  const Interval& i = figure.interval;
  constexpr double kMost = std::numeric_limits<double>::infinity();
  if (limit_sense(figure.measure) == LimitSense::ratio && i.value > 1)
    return {1 / i.value, 1 / i.high, i.low > 0 ? 1 / i.low : kMost, i.kind};
  return is_floor(figure.measure) ? i : turned(i);
}

// From the confidence of one of `own` intervals that hold together to one of `all`.
double factor(double confidence, Index own, Index all) {
  return normal_quantile(adjusted_confidence(confidence, all)) /
         normal_quantile(adjusted_confidence(confidence, own));
}

Interval widened(const Interval& i, double factor) {
  return {i.value, i.value - factor * (i.value - i.low),
          i.value + factor * (i.high - i.value), i.kind};
}

// a - b of two independent figures from their intervals.
Interval difference(const Interval& a, const Interval& b) {
  const double d = a.value - b.value;
  return {d, d - std::hypot(a.value - a.low, b.high - b.value),
          d + std::hypot(a.high - a.value, b.value - b.low), IntervalKind::newcombe};
}

Direction direction_of(const FigureChange& change) {
  const bool floor = is_floor(change.after.measure);
  if (change.change.low > 0) return floor ? Direction::better : Direction::worse;
  if (change.change.high < 0) return floor ? Direction::worse : Direction::better;
  return Direction::unclear;
}

using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;

Key key_of(const AuditFigure& f) {
  return {f.attribute, f.measure, f.first, f.second, f.rate};
}

std::string name_of(const AuditFigure& f) {
  const std::string about = f.about();
  return f.measure + (f.attribute.empty() ? "" : ":" + f.attribute) +
         (about.empty() ? "" : " " + about);
}

}  // namespace

bool is_floor(const std::string& measure) {
  return limit_sense(measure) != LimitSense::at_most;
}

Index BaselineReport::count(Direction direction) const {
  return std::count_if(changes.begin(), changes.end(), [&](const FigureChange& change) {
    return change.direction == direction;
  });
}

BaselineReport compare_audits(const EarlierAudit& before, const EarlierAudit& after) {
  BaselineReport report;
  report.earlier = before;
  report.earlier.figures.clear();
  report.same_data = !before.data_sha256.empty() && before.data_sha256 == after.data_sha256;
  std::map<Key, const AuditFigure*> earlier;
  for (const AuditFigure& figure : before.figures) earlier.emplace(key_of(figure), &figure);
  for (const AuditFigure& figure : after.figures) {
    const auto found = earlier.find(key_of(figure));
    if (found == earlier.end()) {
      report.fresh.push_back(name_of(figure));
      continue;
    }
    report.changes.push_back({.before = *found->second, .after = figure, .change = {}});
    earlier.erase(found);
  }
  for (const AuditFigure& figure : before.figures)
    if (earlier.contains(key_of(figure))) report.gone.push_back(name_of(figure));
  const auto all = static_cast<Index>(report.changes.size());
  for (FigureChange& change : report.changes) {
    const auto own = [&](const AuditFigure& figure, double confidence) {
      return widened(size_of(figure), factor(confidence, figure.comparisons, all));
    };
    change.change = difference(own(change.after, after.confidence),
                               own(change.before, before.confidence));
    change.direction = direction_of(change);
  }
  return report;
}

void set_paired_change(const Interval& plain, double confidence, Index figures,
                       FigureChange& change) {
  const bool floor = is_floor(change.after.measure);
  const double before = change.before.interval.value, after = change.after.interval.value;
  // A gap that went to the other side has no signed change that tells its size.
  if (!plain.defined() || (!floor && before * after < 0)) return;
  const bool negative = !floor && (after < 0 || before < 0);
  change.change = widened(negative ? -plain : plain, factor(confidence, 1, figures));
  change.paired = true;
  change.direction = direction_of(change);
}

}  // namespace fmd
