#include "metrics/group_figures.h"

#include <algorithm>
#include <cmath>

#include "fmd/core/rng.h"
#include "fmd/metrics/score_curve.h"
#include "metrics/group_rates.h"

namespace fmd {
namespace {

constexpr std::size_t kMostGroups = 300;  // with bootstrapped figures

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

CountedGroup counts_of(const GroupTally& group, int favorable) {
  CountedGroup c;
  for (std::size_t k = 0; k < group.label.size(); ++k) {
    const LabelTally& l = group.label[k];
    const bool positive = static_cast<int>(k) == favorable;
    (positive ? c.sums.tp : c.sums.fp) += l.weight_chosen;
    (positive ? c.sums.fn : c.sums.tn) += l.weight - l.weight_chosen;
    (positive ? c.squares.tp : c.squares.fp) += l.weight_squares_chosen;
    (positive ? c.squares.fn : c.squares.tn) += l.weight_squares - l.weight_squares_chosen;
  }
  const LabelTally &u = group.unknown, known = group.known();
  c.sums.selected_unlabelled = u.weight_chosen;
  c.sums.rejected_unlabelled = u.weight - u.weight_chosen;
  c.squares.selected_unlabelled = u.weight_squares_chosen;
  c.squares.rejected_unlabelled = u.weight_squares - u.weight_squares_chosen;
  c.right.tp = known.weight_right;
  c.right.fp = known.weight - known.weight_right;
  c.right_squares.fp = known.weight_squares;  // only their sum is asked for
  return c;
}

// The group's table as whole rows: the counts, or with weights as many as are effective.
std::vector<Confusion> resampled(const Confusion& sums, const Confusion& squares,
                                 Index replicates, const Exec& exec) {
  const double rows = effective(0, sums.rows(), squares.rows()).of;
  const double scale = sums.rows() == 0 ? 0 : rows / sums.rows();
  const auto whole = [&](double x) { return static_cast<Index>(std::llround(x * scale)); };
  const CountTables tables =
      bootstrap_counts({whole(sums.tp), whole(sums.fp), whole(sums.tn), whole(sums.fn),
                        whole(sums.selected_unlabelled), whole(sums.rejected_unlabelled)},
                       replicates, exec);
  std::vector<Confusion> out(at(replicates));
  for (Index r = 0; r < replicates; ++r) {
    const auto cell = [&](std::size_t k) { return static_cast<double>(tables[r][k]); };
    out[at(r)] = {cell(0), cell(1), cell(2), cell(3), cell(4), cell(5)};
  }
  return out;
}

Interval rate_interval(const RateInfo& rate, const CountedGroup& c, bool right,
                       double confidence) {
  const Confusion& sums = right ? c.right : c.sums;
  if (rate.share != nullptr) {
    const Share share = rate.share(sums);
    const double squares = rate.share(right ? c.right_squares : c.squares).of;
    const RateCount count = effective(share.hits, share.of, squares);
    return effective_wilson(count.hits, count.of, confidence);
  }
  const std::vector<Confusion>& drawn = right ? c.right_replicates : c.replicates;
  const double value = rate.value(sums);
  if (drawn.empty()) return {value, kUndefined, kUndefined};
  std::vector<double> values(drawn.size());
  std::transform(drawn.begin(), drawn.end(), values.begin(), rate.value);
  return percentile(value, std::move(values), confidence);
}

std::vector<Figure> rates_of(const CountedGroup& counts, const FigureRules& rules,
                             double confidence) {
  std::vector<Figure> rates;
  for (const RateInfo& rate : group_rates()) {
    Figure figure{rate.name, {}, rules.reason(rate.name)};
    if (figure.reason.empty()) {
      figure.value = rate_interval(rate, counts, rules.of_right(rate.name), confidence);
      if (!figure.value.defined()) figure.reason = "no rows that it is about";
    }
    rates.push_back(std::move(figure));
  }
  return rates;
}

}  // namespace

bool FigureRules::of_right(const char* rate) const {
  const std::string_view name = rate == nullptr ? "" : rate;
  return (!two_classes || !named) && (name == "accuracy" || name == "error_rate");
}

std::string FigureRules::reason(const char* rate) const {
  const std::string_view name = rate == nullptr ? "" : rate;
  if (name == "accuracy" || name == "error_rate") return labelled ? "" : "no labels";
  if (!named) return "no favourable class";
  return labelled || name == "selection_rate" ? "" : "no labels";
}

void add_figures(const Tally& tally, std::span<const Index> attributes,
                 const std::vector<GroupTally>& tallies, const GroupOptions& options,
                 const Exec& exec, GroupReport& report) {
  const TallyPlan& plan = tally.plan();
  const FigureRules rules{.labelled = plan.labelled,
                          .named = plan.favorable >= 0,
                          .two_classes = plan.classes == 2};
  std::vector<CountedGroup> counts;
  std::vector<int> compared;
  for (std::size_t g = 0; g < tallies.size(); ++g) {
    counts.push_back(counts_of(tallies[g], plan.favorable));
    if (report.groups[g].compared) compared.push_back(static_cast<int>(g));
  }
  if (compared.size() <= kMostGroups) {
    for (const int g : compared) {
      // By name, as for mean scores: renumbering groups changes nothing.
      Exec own = exec;
      own.seed = Rng(exec.seed, "table of " + report.groups[at(g)].value).next();
      CountedGroup& c = counts[at(g)];
      c.replicates = resampled(c.sums, c.squares, options.replicates, own);
      if (rules.of_right("accuracy"))
        c.right_replicates = resampled(c.right, c.right_squares, options.replicates, own);
    }
  }
  for (std::size_t g = 0; g < tallies.size(); ++g)
    if (report.groups[g].compared || attributes.size() < 2)
      report.groups[g].rates = rates_of(counts[g], rules, options.confidence);
  add_criteria(counts, compared, rules, options, report);
  add_common_figures(tallies, counts, compared, rules, options, report);
  if (attributes.size() < 2)
    add_score_figures(tally, attributes, tallies, compared, rules, options, exec, report);
}

const std::vector<std::string>& group_measure_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = {"demographic_parity",      "equal_opportunity",
                                      "equalized_odds",          "accuracy_difference",
                                      "demographic_parity_soft", "equal_opportunity_soft"};
    for (const CriterionInfo& criterion : group_criteria())
      names.emplace_back(criterion.name);
    for (const char* name : kCommonFigures) names.emplace_back(name);
    for (const char* name : kScoreFigures) names.emplace_back(name);
    return names;
  }();
  return all;
}

}  // namespace fmd
