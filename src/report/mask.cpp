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

// Counts as multiples of a number, figures with few decimals: then a report of one person
// more is, nearly always, the same report.
class Rounding {
 public:
  explicit Rounding(Index step) : step_(step) {}

  void apply(AuditReport& r) const {
    for (Index* n : {&r.rows, &r.missing_numbers}) count(*n);
    if (r.seen > 0) count(r.seen);
    for (double* x : {&r.seen_by_chance, &r.log_loss, &r.calibration_error}) figure(*x);
    figure(r.accuracy);
    if (r.neighbours) figure(r.neighbours->consistency);
    for (AttributeAudit& a : r.attributes) {
      if (a.flip) apply(*a.flip);
      if (a.distortion)
        for (Interval* i : {&a.distortion->euclidean, &a.distortion->manhattan,
                            &a.distortion->mahalanobis})
          figure(*i);
      if (a.slope) apply(*a.slope);
      apply(a.groups);
      for (FlipTest& test : a.flip_test) {
        count(test.rows);
        figure(test.value);
      }
    }
    for (GroupReport& cells : r.intersections) apply(cells);
    if (r.refits)
      for (RefitFigure& one : r.refits->figures) figure(one.value);
    for (LimitResult& limit : r.limits)
      for (LimitLine& line : limit.lines) {
        const std::string& name = limit.limit.measure;
        name.starts_with("co") ? small(line.interval) : figure(line.interval);
      }
    for (AuditWarning& warning : r.warnings) warning.text = "its numbers are rounded away";
    r.notes.clear();
  }

 private:
  void count(Index& n) const { n = (n + step_ / 2) / step_ * step_; }
  static void figure(double& x) {
    if (std::isfinite(x)) x = std::round(100 * x) / 100;
  }
  static void figure(Interval& i) {
    for (double* x : {&i.value, &i.low, &i.high}) figure(*x);
  }
  static void small(Interval& i) { fmd::round(i, decimals); }  // gaps are small

  void apply(FlipReport& flip) const {
    for (Index* n : {&flip.units, &flip.pairs}) count(*n);
    for (Interval* i : {&flip.co, &flip.co_tv, &flip.co_large, &flip.co_worst}) small(*i);
    figure(flip.flip_rate);  // one answer is a whole row
    figure(flip.share_still);
    for (FlipFigure& one : flip.figures) {
      count(one.rows);
      small(one.value);
    }
    for (FlipCell& cell : flip.cells) {
      count(cell.rows);
      small(cell.co);
      cell.signed_change = decimals(cell.signed_change);
      figure(cell.flip_rate);
    }
  }

  void apply(SlopeReport& slope) const {
    count(slope.rows);
    for (Interval* i : {&slope.per_unit, &slope.per_deviation}) fmd::round(*i, digits);
    slope.deviation = digits(slope.deviation);
    slope.signed_per_unit = digits(slope.signed_per_unit);
  }

  void apply(GroupReport& report) const {
    for (Group& g : report.groups) {
      for (Index* n : {&g.rows, &g.positives, &g.negatives}) count(*n);
      g.effective_rows = static_cast<double>(g.rows);
      for (Interval* i : {&g.selection_rate, &g.tpr, &g.fpr, &g.accuracy}) figure(*i);
      figure(g.mean_score);
      for (Figure& rate : g.rates) figure(rate.value);
    }
    for (GroupMeasure& m : report.measures) {
      figure(m.value);
      figure(m.widest.difference);
      figure(m.p_value);
      for (Comparison& c : m.comparisons) {
        figure(c.difference);
        figure(c.p_value);
        figure(c.adjusted);
      }
    }
    figure(report.selection_ratio);
    figure(report.worst_group_accuracy);
    count(report.rows_without_group);
  }

  Index step_;
};

AuditReport rounded(AuditReport report) {
  if (report.round > 0) Rounding(report.round).apply(report);
  return report;
}

}  // namespace

AuditReport masked(AuditReport report) {
  if (report.include_rows) return rounded(std::move(report));
  for (AttributeAudit& a : report.attributes) {
    if (a.flip) mask(*a.flip);
    // The rows that are not flipped have no value, or one that is not flipped: where these
    // are few, the number of flipped rows must not tell how few.
    if (a.flip && a.pairs == PairKind::flip) {
      const Index left = report.rows - a.flip->units;
      const bool small = std::any_of(
          a.groups.groups.begin(), a.groups.groups.end(),
          [](const Group& g) { return g.masked || (g.rows > 0 && g.rows < kMaskedRows); });
      if (left > 0 && (small || left < kMaskedRows)) {
        a.flip->units = tens(a.flip->units);
        a.flip->pairs = tens(a.flip->pairs);
        a.few_left_out = left < kMaskedRows;
      }
    }
    if (!mask(a.groups, false)) continue;
    for (LimitResult& limit : report.limits)
      if (limit.limit.attribute == a.name)
        for (LimitLine& line : limit.lines) round(line.interval, digits);
  }
  for (GroupReport& cells : report.intersections) mask(cells, true);
  return rounded(std::move(report));
}

}  // namespace fmd
