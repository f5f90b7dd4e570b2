#include "fmd/report/mask.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "fmd/metrics/confusion.h"
#include "fmd/report/audit_report.h"

// Reports leave out figures of so few rows that they are figures of persons.
namespace fmd {
namespace {

const std::string kFew = fmt::format("fewer than {} rows", kMaskedRows);
const std::string kFewLabels = fmt::format("fewer than {} rows of a label", kMaskedRows);

Index tens(Index n) { return (n + 5) / 10 * 10; }
double decimals(double x) { return std::round(1000 * x) / 1000; }
double digits(double x) {  // three significant digits, for gaps of any size
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(x))) - 2);
  return std::round(x / unit) * unit;
}

template <typename Round>
void round(Interval& i, Round how) {
  i = {how(i.value), how(i.low), how(i.high), i.kind};
}
void round(Interval& i) { round(i, decimals); }

// Rates that do not tell how many rows each label has.
bool tells_no_label(std::string_view rate) {
  return rate == "selection_rate" || rate == "accuracy" || rate == "error_rate" ||
         rate == "mean_score";
}

void hide(Figure& figure, const std::string& why) {
  figure.value = {}, figure.reason = why;
}

void hide_group(Group& g) {
  Group hidden;
  hidden.value = g.value;
  hidden.rates = g.rates;
  hidden.masked = true;
  for (Figure& rate : hidden.rates) hide(rate, kFew);
  g = std::move(hidden);
}

void hide_labels(Group& g) {
  g.labels_masked = true;
  g.positives = g.negatives = 0;
  g.tpr = g.fpr = {};
  for (Figure& rate : g.rates)
    if (!tells_no_label(rate.name)) hide(rate, kFewLabels);
}

// Figures of all groups together that look at decisions alone.
bool looks_at_no_label(std::string_view measure) {
  return measure == "differential_fairness" || measure == "subgroup_selection";
}

// Hides measures by name that would tell the labels of a group.
void hide_measures(GroupReport& report) {
  const auto hidden = [&](int g) {
    return g >= 0 && report.groups[static_cast<std::size_t>(g)].labels_masked;
  };
  for (GroupMeasure& m : report.measures) {
    const CriterionInfo* criterion = find_criterion(m.name);
    const bool safe = criterion == nullptr
                          ? looks_at_no_label(m.name)
                          : criterion->rate != nullptr && tells_no_label(criterion->rate);
    if (!m.by_name || safe) continue;
    const bool tells =
        (m.comparisons.empty() && m.reason.empty()) ||  // of all compared groups
        std::any_of(m.comparisons.begin(), m.comparisons.end(), [&](const Comparison& c) {
          return hidden(c.first) || hidden(c.second);
        });
    if (!tells) continue;
    m.reason = kFewLabels;
    m.value = {};
    m.about.clear();
    m.p_value = kUndefined;
    m.comparisons.clear();
    m.farthest = -1;
    m.widest = {};
  }
}

void blur_group(Group& g) {
  g.rows = tens(g.rows);
  g.positives = tens(g.positives);
  g.negatives = tens(g.negatives);
  g.effective_rows = 10 * std::round(g.effective_rows / 10);
  for (Interval* i : {&g.selection_rate, &g.tpr, &g.fpr, &g.accuracy}) round(*i);
  g.mean_score = decimals(g.mean_score);
  for (Figure& rate : g.rates) round(rate.value);
}

void blur(GroupReport& report) {
  for (Group& g : report.groups) blur_group(g);
  for (GroupMeasure& m : report.measures) {
    round(m.value);
    round(m.widest.difference);
    for (Comparison& c : m.comparisons) round(c.difference);
  }
  round(report.selection_ratio);
  round(report.worst_group_accuracy);
  if (report.rows_without_group >= kMaskedRows)
    report.rows_without_group = tens(report.rows_without_group);
}

// Everything that is hidden, added up: the totals minus the other groups tell this sum.
struct Hidden {
  Index parts = 0, rows = 0, positives = 0, negatives = 0;

  void add(const Group& g) {
    ++parts;
    rows += g.rows;
    positives += g.positives;
    negatives += g.negatives;
  }
  // There is only one part, or the sum has so few rows or labels that it tells the parts.
  [[nodiscard]] bool told_by_totals() const {
    const bool labelled = positives + negatives > 0;
    return parts == 1 || rows < kMaskedRows ||
           (labelled && std::min(positives, negatives) < kMaskedRows);
  }
};

// crossed: the cells of two attributes, which add up to the groups of either in many
// ways. Returns true when figures were rounded.
bool mask(GroupReport& report, bool crossed) {
  Hidden hidden;
  bool labels = false;  // of a group that measures look at
  if (report.rows_without_group > 0 && report.rows_without_group < kMaskedRows)
    hidden = {.parts = 1, .rows = report.rows_without_group};
  for (Group& g : report.groups) {
    if (g.masked) continue;
    const bool few = g.rows < kMaskedRows;
    const bool few_labels =
        g.positives + g.negatives > 0 && std::min(g.positives, g.negatives) < kMaskedRows;
    if (few || few_labels) hidden.add(g);
    if (few) {
      hide_group(g);
    } else if (few_labels) {
      labels = labels || g.compared;
      hide_labels(g);
    }
  }
  if (labels) hide_measures(report);
  const bool rounds = hidden.parts > 0 && (crossed || hidden.told_by_totals());
  if (rounds) blur(report);
  return rounds;
}

void mask(FlipReport& flip) {
  bool small = false;
  for (FlipFigure& figure : flip.figures) {
    if (figure.rows >= kMaskedRows || figure.rows == 0) continue;
    figure.value = {};
    figure.reason = kFew;
  }
  for (FlipCell& cell : flip.cells) {
    if (cell.rows >= kMaskedRows) continue;
    small = true;
    const std::int32_t from = cell.from, to = cell.to;
    cell = {.from = from, .to = to, .rows = 0, .co = {}};
    cell.masked = true;
    cell.signed_change = cell.flip_rate = kUndefined;
  }
  if (!small) return;
  round(flip.co_worst, digits);
  for (FlipCell& cell : flip.cells) {
    cell.rows = tens(cell.rows);
    round(cell.co, digits);
    cell.signed_change = digits(cell.signed_change);
    cell.flip_rate = digits(cell.flip_rate);
  }
}

}  // namespace

AuditReport masked(AuditReport report) {
  if (report.include_rows) return report;
  for (AttributeAudit& a : report.attributes) {
    if (a.flip) mask(*a.flip);
    if (!mask(a.groups, false)) continue;
    for (LimitResult& limit : report.limits)
      if (limit.limit.attribute == a.name)
        for (LimitLine& line : limit.lines) round(line.interval, digits);
  }
  for (GroupReport& cells : report.intersections) mask(cells, true);
  return report;
}

}  // namespace fmd
