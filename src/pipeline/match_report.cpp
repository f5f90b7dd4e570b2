#include <algorithm>
#include <cmath>
#include <map>

#include "core/index.h"
#include "fmd/metrics/matched.h"
#include "pipeline/match_balance.h"

namespace fmd {
namespace {

// |p_y - pbar_y| for the label that both rows have; without labels half the sum over the
// classes, which is the same for two.
double gap(const Scored& scored, std::span<const std::int32_t> y, Index row, Index other) {
  if (!y.empty() && scored.p.cols() > 2) {
    const Index label = y[at(row)];
    return std::abs(scored.p(row, label) - scored.p(other, label));
  }
  return (scored.p.row(row) - scored.p.row(other)).cwiseAbs().sum() / 2;
}

void count_partners(const MatchPlan& plan, MatchReport& report) {
  std::map<std::pair<std::int32_t, Index>, Index> used;  // by the value that was left
  std::map<Index, Index> rows, partners;
  double weight = 0, quality = 0, distance = 0;
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    ++rows[plan.row[i]];
    ++partners[plan.partner[i]];
    report.most_used = std::max(report.most_used, ++used[{plan.from[i], plan.partner[i]}]);
    const double w = static_cast<double>(plan.weight[i]);
    weight += w;
    quality += w * plan.quality[i];
    distance += w * plan.distance[i];
  }
  report.matched = std::ssize(rows);
  report.partners = std::ssize(partners);
  if (weight == 0) return;
  report.quality = quality / weight;
  report.distance = distance / weight;
}

// Pairs with a partner on both sides; a row's weights sum to 1 over these.
void measure(const MatchPlan& plan, const MatchInput& input, const Scored& scored,
             double confidence, MatchReport& report) {
  MatchedGaps gaps;
  std::vector<double> across, within;
  std::map<Index, float> per_row;
  double differ = 0, differ_floor = 0;
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    if (plan.own[i] < 0) continue;
    gaps.row.push_back(plan.row[i]);
    gaps.partner.push_back(plan.partner[i]);
    gaps.own.push_back(plan.own[i]);
    across.push_back(gap(scored, input.y, plan.row[i], plan.partner[i]));
    within.push_back(gap(scored, input.y, plan.row[i], plan.own[i]));
    ++per_row[plan.row[i]];
  }
  if (gaps.row.empty()) {
    report.reason = "no row has a partner on both sides";
    return;
  }
  for (std::size_t i = 0; i < gaps.row.size(); ++i) {
    gaps.weight.push_back(1.0F / per_row[gaps.row[i]]);
    const double w = static_cast<double>(gaps.weight[i]);
    const std::int32_t decided = scored.decision[at(gaps.row[i])];
    differ += w * (decided != scored.decision[at(gaps.partner[i])] ? 1 : 0);
    differ_floor += w * (decided != scored.decision[at(gaps.own[i])] ? 1 : 0);
  }
  gaps.gap = Eigen::Map<const Vector>(across.data(), std::ssize(across));
  gaps.floor = Eigen::Map<const Vector>(within.data(), std::ssize(within));
  const MatchedResult result = matched_result(gaps, confidence);
  report.compared = result.rows;
  report.co = result.co;
  report.floor = result.floor;
  report.excess = result.excess;
  report.flip_rate = differ / static_cast<double>(result.rows);
  report.flip_rate_floor = differ_floor / static_cast<double>(result.rows);
}

}  // namespace

MatchReport match_report(const MatchPlan& plan, const MatchInput& input,
                         const Scored& scored, double confidence) {
  MatchReport report;
  report.by = plan.by;
  report.columns = plan.columns;
  report.same_label = !input.y.empty();
  report.reuse = plan.reuse;
  report.caliper = plan.caliper;
  for (const std::int32_t value : plan.values)
    report.values.push_back(input.attribute->values[at(value)]);
  report.rows = plan.rows;
  report.pairs = plan.size();
  report.unmatched = plan.unmatched;
  report.reason = plan.reason;
  if (plan.size() == 0) return report;
  count_partners(plan, report);
  measure(plan, input, scored, confidence, report);
  report.balance = balance(plan, input);
  return report;
}

Table match_table(const MatchPlan& plan, const Attribute& attribute) {
  Table table;
  table.source = "matched pairs";
  Column row{.name = "fmd_row"}, partner{.name = "fmd_partner"};
  Column from{.name = "fmd_from", .kind = ColumnKind::category, .levels = attribute.values};
  Column to{.name = "fmd_to", .kind = ColumnKind::category, .levels = attribute.values};
  Column quality{.name = "fmd_quality"};
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    row.numbers.push_back(static_cast<double>(plan.row[i] + 1));
    partner.numbers.push_back(static_cast<double>(plan.partner[i] + 1));
    quality.numbers.push_back(plan.quality[i]);
  }
  from.codes = plan.from;
  to.codes = plan.to;
  table.columns = {std::move(row), std::move(partner), std::move(from), std::move(to),
                   std::move(quality)};
  return table;
}

}  // namespace fmd
