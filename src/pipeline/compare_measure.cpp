#include "pipeline/compare_measure.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/metrics/interval.h"
#include "pipeline/study_parts.h"

namespace fmd::internal {
namespace {

struct Rate {
  double hits = 0, of = 0;
};

// Sums of one group. For methods that decide at random these are expected counts: a
// random decision is yes with the group's mean probability, so Wilson's and Newcombe's
// intervals hold for it too.
struct GroupSums {
  Rate selection, tpr, fpr, accuracy;
};

std::vector<GroupSums> group_sums(const AskedPart& part, const Matrix& decision,
                                  int favorable) {
  std::vector<GroupSums> groups(part.attribute.values.size());
  for (Index i = 0; i < decision.rows(); ++i) {
    const auto row = at(part.rows[at(i)]);
    const std::int32_t g = part.attribute.code[row];
    if (g < 0) continue;
    GroupSums& sums = groups[at(g)];
    const std::int32_t y = part.study.y[row];
    sums.accuracy.of += 1;
    sums.accuracy.hits += decision(i, y);
    if (favorable < 0) continue;
    const double yes = decision(i, favorable);
    Rate& by_label = y == favorable ? sums.tpr : sums.fpr;
    sums.selection.of += 1;
    sums.selection.hits += yes;
    by_label.of += 1;
    by_label.hits += yes;
  }
  return groups;
}

using GroupRate = Rate GroupSums::*;

// The largest difference between the reference and another group, the same as in an
// audit.
Interval largest_difference(const std::vector<GroupSums>& groups, int reference,
                            const std::vector<GroupRate>& rates,
                            const CompareMeasureOptions& o, std::string& reason) {
  const auto enough = [&](std::size_t g, GroupRate rate) {
    const bool label = rate == &GroupSums::tpr || rate == &GroupSums::fpr;
    return groups[g].selection.of >= static_cast<double>(o.min_group) &&
           (!label || (groups[g].*rate).of >= static_cast<double>(o.min_label));
  };
  Index comparisons = 0;
  for (const GroupRate rate : rates) {
    Index large = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) large += enough(g, rate);
    if (large < 2 || !enough(static_cast<std::size_t>(reference), rate)) {
      reason = fmt::format("fewer than two groups have >= {} rows and >= {} labels",
                           o.min_group, o.min_label);
      return {};
    }
    comparisons += large - 1;
  }
  const double confidence = adjusted_confidence(o.confidence, comparisons);
  Interval widest;
  for (const GroupRate rate : rates)
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (static_cast<int>(g) == reference || !enough(g, rate)) continue;
      const Rate& first = groups[static_cast<std::size_t>(reference)].*rate;
      const Rate& second = groups[g].*rate;
      Interval d =
          effective_newcombe(first.hits, first.of, second.hits, second.of, confidence);
      if (d.value < 0) d = -d;
      if (!widest.defined() || d.value > widest.value) widest = d;
    }
  return widest;
}

int reference_group(const AskedPart& part, const std::vector<GroupSums>& groups) {
  if (part.attribute.reference >= 0) return part.attribute.reference;
  int largest = 0;
  for (int g = 0; g < static_cast<int>(groups.size()); ++g)
    if (groups[at(g)].accuracy.of > groups[at(largest)].accuracy.of) largest = g;
  return largest;
}

void measure_groups(const AskedPart& part, const Answers& answers,
                    const CompareMeasureOptions& o, CompareFigures& figures) {
  const std::vector<GroupSums> groups = group_sums(part, answers.decision, o.favorable);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Rate& accuracy = groups[g].accuracy;
    if (accuracy.of < static_cast<double>(o.min_group)) continue;
    const Interval here = effective_wilson(accuracy.hits, accuracy.of, o.confidence);
    if (figures.worst_group.defined() && here.value >= figures.worst_group.value) continue;
    figures.worst_group = here;
    figures.worst_group_name = part.attribute.values[g];
  }
  if (o.favorable < 0) {
    figures.group_reason = "no favourable class";
    return;
  }
  const int reference = reference_group(part, groups);
  const auto difference = [&](const std::vector<GroupRate>& rates) {
    return largest_difference(groups, reference, rates, o, figures.group_reason);
  };
  figures.demographic_parity = difference({&GroupSums::selection});
  figures.equal_opportunity = difference({&GroupSums::tpr});
  figures.equalized_odds = difference({&GroupSums::tpr, &GroupSums::fpr});
}

// Row by row: the probability that the decision is the label.
Vector correct(const AskedPart& part, const Answers& answers) {
  Vector out(answers.decision.rows());
  for (Index i = 0; i < out.size(); ++i)
    out[i] = answers.decision(i, part.study.y[at(part.rows[at(i)])]);
  return out;
}

// Interval of a mean over rows. Where there are few different values, their counts are
// resampled.
Interval mean_interval(const Vector& values, const CompareMeasureOptions& o,
                       const Exec& exec) {
  if (values.size() == 0) return {};
  const double mean = values.mean();
  if (o.replicates == 0) return {mean, kUndefined, kUndefined};
  std::map<double, Index> counted;
  for (const double v : values) {
    ++counted[v];
    if (counted.size() > 64)
      return bootstrap_mean(values, o.confidence, o.replicates, exec);
  }
  std::vector<double> value;
  std::vector<Index> count;
  for (const auto& [v, n] : counted) {
    value.push_back(v);
    count.push_back(n);
  }
  const CountTables tables = bootstrap_counts(count, o.replicates, exec);
  std::vector<double> replicates;
  for (Index r = 0; r < tables.size(); ++r) {
    double sum = 0;
    for (std::size_t k = 0; k < value.size(); ++k)
      sum += value[k] * static_cast<double>(tables[r][k]);
    replicates.push_back(sum / static_cast<double>(values.size()));
  }
  return percentile(mean, std::move(replicates), o.confidence);
}

// For each row the means over its pairs of two things: the change of p of the label's
// class, and the probability that both sides are decided differently.
void measure_flips(const AskedPart& part, const Told& told, const CompareMeasureOptions& o,
                   const Exec& exec, CompareFigures& figures) {
  std::vector<double> gap, differ, total;
  Index last = -1;
  for (std::size_t k = 0; k < part.place.size(); ++k) {
    const Index i = part.place[k];
    const auto bar = static_cast<Index>(k);
    if (i != last) {
      gap.push_back(0);
      differ.push_back(0);
      total.push_back(0);
      last = i;
    }
    const std::int32_t y = part.study.y[at(part.rows[at(i)])];
    const auto w = static_cast<double>(part.weight[k]);
    total.back() += w;
    gap.back() += w * std::abs(told.c.p(i, y) - told.bar.p(bar, y));
    differ.back() += w * (1 - told.c.decision.row(i).dot(told.bar.decision.row(bar)));
  }
  Vector co(std::ssize(gap)), flip_rate(std::ssize(gap));
  for (std::size_t u = 0; u < gap.size(); ++u) {
    co[static_cast<Index>(u)] = gap[u] / total[u];
    flip_rate[static_cast<Index>(u)] = differ[u] / total[u];
  }
  figures.co = mean_interval(co, o, exec);
  figures.flip_rate = mean_interval(flip_rate, o, exec);
}

}  // namespace

AskedPart::AskedPart(const Model& model, const Study& from, std::size_t number,
                     std::vector<Index> numbers)
    : study(from), attribute(from.attributes[number]), rows(std::move(numbers)) {
  c = {study.rows(rows), attribute.code};
  flips = attribute.flips();
  if (!flips) return;
  const PairPlan plan = flip_plan(attribute, rows);
  for (const Index row : plan.row)
    place.push_back(std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
  weight = plan.weight;
  to = plan.to;
  if (model.backbone->inputs().reads(attribute)) {
    flipped = flipped_features(model, study, attribute, plan, {});
  } else {  // the features stay; only methods that need the attribute see another value
    FeaturePatch nothing;
    nothing.entries.resize(attribute.values.size());
    flipped = make_patched(*study.X, plan.row, nothing, plan.to);
  }
  cbar = {{.X = flipped.get(), .y = {}, .weight = {}, .subset = {}}, to};
}

CompareFigures measure_answers(const AskedPart& part, const Told& told, const Told& before,
                               const CompareMeasureOptions& options, const Exec& exec) {
  CompareFigures figures;
  figures.rows = std::ssize(part.rows);
  const Vector right = correct(part, told.c);
  figures.accuracy =
      effective_wilson(right.sum(), static_cast<double>(right.size()), options.confidence);
  figures.accuracy_change = mean_interval(right - correct(part, before.c), options, exec);
  measure_groups(part, told.c, options, figures);
  if (told.bar.p.rows() > 0) measure_flips(part, told, options, exec, figures);
  return figures;
}

const Interval& figure(const CompareFigures& figures, const std::string& name) {
  if (name == "co") return figures.co;
  if (name == "flip_rate") return figures.flip_rate;
  if (name == "demographic_parity") return figures.demographic_parity;
  if (name == "equal_opportunity") return figures.equal_opportunity;
  if (name == "equalized_odds") return figures.equalized_odds;
  throw Error(ErrorKind::bad_option,
              fmt::format("compare: there is no rule for the measure {}", name),
              "measures: co, flip_rate, demographic_parity, equal_opportunity, "
              "equalized_odds");
}

}  // namespace fmd::internal
