#include "metrics/group_figures.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/score_curve.h"
#include "fmd/metrics/testing.h"
#include "metrics/confusion_counts.h"
#include "metrics/group_rates.h"

namespace fmd {
namespace {

constexpr std::size_t kMostGroups = 300;  // with bootstrapped figures

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
Confusion whole_table(const Confusion& sums, const Confusion& squares) {
  const double rows = effective(0, sums.rows(), squares.rows()).of;
  const double scale = sums.rows() == 0 ? 0 : rows / sums.rows();
  const auto whole = [&](double x) { return std::round(x * scale); };
  return {whole(sums.tp),
          whole(sums.fp),
          whole(sums.tn),
          whole(sums.fn),
          whole(sums.selected_unlabelled),
          whole(sums.rejected_unlabelled)};
}

std::vector<Confusion> resampled(const Confusion& whole, Index replicates,
                                 const Exec& exec) {
  const CountTables tables =
      bootstrap_counts(confusion_counts("bootstrap", whole), replicates, exec);
  std::vector<Confusion> out(at(replicates));
  for (Index r = 0; r < replicates; ++r) out[at(r)] = confusion_of(tables[r]);
  return out;
}

Interval rate_interval(const RateInfo& rate, const CountedGroup& c, bool right,
                       double confidence, Bootstrap intervals) {
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
  const double acceleration =
      intervals == Bootstrap::percentile
          ? 0
          : table_acceleration({right ? &c.right_whole : &c.whole},
                               [&](const auto& tables) { return rate.value(tables[0]); });
  return bootstrap_interval(value, std::move(values), acceleration, confidence, intervals);
}

std::vector<Figure> rates_of(const CountedGroup& counts, const FigureRules& rules,
                             const GroupOptions& options) {
  std::vector<Figure> rates;
  for (const RateInfo& rate : group_rates()) {
    Figure figure{rate.name, {}, rules.reason(rate.name)};
    if (figure.reason.empty()) {
      figure.value = rate_interval(rate, counts, rules.of_right(rate.name),
                                   options.confidence, options.intervals);
      if (!figure.value.defined()) figure.reason = "no rows that it is about";
    }
    rates.push_back(std::move(figure));
  }
  return rates;
}

}  // namespace

double table_acceleration(
    const std::vector<const Confusion*>& tables,
    const std::function<double(const std::vector<Confusion>&)>& figure) {
  std::vector<Index> counts;
  std::vector<int> stratum;
  for (std::size_t g = 0; g < tables.size(); ++g) {
    const std::vector<Index> own = confusion_counts("jackknife", *tables[g]);
    counts.insert(counts.end(), own.begin(), own.end());
    stratum.insert(stratum.end(), own.size(), static_cast<int>(g));
  }
  std::vector<Confusion> some(tables.size());
  return jackknife_acceleration(counts, stratum, [&](std::span<const Index> table) {
    for (std::size_t g = 0; g < some.size(); ++g)
      some[g] = confusion_of(table.subspan(g * kConfusionCells, kConfusionCells));
    return figure(some);
  });
}

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
      c.whole = whole_table(c.sums, c.squares);
      c.right_whole = whole_table(c.right, c.right_squares);
      c.replicates = resampled(c.whole, options.replicates, own);
      if (rules.of_right("accuracy"))
        c.right_replicates = resampled(c.right_whole, options.replicates, own);
    }
  }
  for (std::size_t g = 0; g < tallies.size(); ++g)
    if (report.groups[g].compared || attributes.size() < 2)
      report.groups[g].rates = rates_of(counts[g], rules, options);
  add_criteria(counts, compared, rules, options, report);
  if (options.permutations > 0 && !plan.weighted)
    add_permutations(counts, rules, options.permutations, exec, report);
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
