#include "fmd/metrics/spurious.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace fmd {
namespace {

void validate(const LabelAttributeTable& t) {
  require_size("spurious", "table", static_cast<Index>(t.cells.size()),
               t.labels * t.attributes);
}

// sum_c weight_c accuracy_c / sum of weights. The ends come from those of the parts: the
// squares of their distances add up, as for a difference of two shares.
Interval weighted_mean(const std::vector<Share>& cells, const std::vector<double>& weight,
                       double confidence) {
  double sum = 0, all = 0, below = 0, above = 0;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (weight[c] == 0) continue;
    const Interval part = share_interval(cells[c], confidence);
    if (!part.defined()) return {};
    all += weight[c];
    sum += weight[c] * part.value;
    below += std::pow(weight[c] * (part.value - part.low), 2);
    above += std::pow(weight[c] * (part.high - part.value), 2);
  }
  if (all == 0) return {};
  return {sum / all, (sum - std::sqrt(below)) / all, (sum + std::sqrt(above)) / all,
          IntervalKind::newcombe};
}

}  // namespace

WorstCell worst_cell(const LabelAttributeTable& table, double confidence) {
  validate(table);
  const auto rows = [](const Share& cell) { return cell.of > 0; };
  const Index cells = std::count_if(table.cells.begin(), table.cells.end(), rows);
  const double adjusted = adjusted_confidence(confidence, std::max<Index>(1, cells));
  WorstCell worst;
  // The smallest ends over all cells: of the worst cell, whichever it is.
  double low = HUGE_VAL, high = HUGE_VAL;
  for (Index c = 0; c < table.labels * table.attributes; ++c) {
    const Share& cell = table.cells[static_cast<std::size_t>(c)];
    if (cell.of == 0) continue;
    const Interval here = share_interval(cell, adjusted);
    low = std::isnan(here.low) ? here.low : std::min(low, here.low);
    high = std::isnan(here.high) ? here.high : std::min(high, here.high);
    if (worst.label < 0 || here.value < worst.accuracy.value)
      worst = {here, static_cast<int>(c / table.attributes),
               static_cast<int>(c % table.attributes)};
  }
  if (worst.label >= 0) worst.accuracy.low = low, worst.accuracy.high = high;
  return worst;
}

Interval unbiased_accuracy(const LabelAttributeTable& table, double confidence) {
  validate(table);
  std::vector<double> weight;
  for (const Share& cell : table.cells) weight.push_back(cell.of == 0 ? 0 : 1);
  return weighted_mean(table.cells, weight, confidence);
}

Interval reweighted_accuracy(const LabelAttributeTable& table,
                             const std::vector<double>& training, double confidence) {
  validate(table);
  require_size("spurious", "training", static_cast<Index>(training.size()),
               static_cast<Index>(table.cells.size()));
  for (const double rows : training)
    require_option(rows >= 0, "spurious", "training", rows, ">= 0");
  return weighted_mean(table.cells, training, confidence);
}

std::vector<int> aligned_attributes(Index labels, Index attributes,
                                    const std::vector<double>& rows) {
  require_size("spurious", "rows", static_cast<Index>(rows.size()), labels * attributes);
  std::vector<double> by_attribute(static_cast<std::size_t>(attributes), 0);
  const auto cell = [&](Index y, Index a) {
    return rows[static_cast<std::size_t>(y * attributes + a)];
  };
  for (Index y = 0; y < labels; ++y)
    for (Index a = 0; a < attributes; ++a)
      by_attribute[static_cast<std::size_t>(a)] += cell(y, a);
  std::vector<int> aligned;
  for (Index y = 0; y < labels; ++y) {
    int best = -1;
    double most = 0;
    for (Index a = 0; a < attributes; ++a) {
      if (cell(y, a) == 0) continue;
      const double lift = cell(y, a) / by_attribute[static_cast<std::size_t>(a)];
      if (lift > most) most = lift, best = static_cast<int>(a);
    }
    aligned.push_back(best);
  }
  return aligned;
}

AlignedAccuracy aligned_accuracy(const LabelAttributeTable& table,
                                 const std::vector<int>& aligned, double confidence) {
  validate(table);
  require_size("spurious", "aligned", static_cast<Index>(aligned.size()), table.labels);
  Share with, against;
  for (Index y = 0; y < table.labels; ++y) {
    for (Index a = 0; a < table.attributes; ++a) {
      const Share& cell = table.cells[static_cast<std::size_t>(y * table.attributes + a)];
      Share& side = aligned[static_cast<std::size_t>(y)] == a ? with : against;
      side.hits += cell.hits;
      side.of += cell.of;
    }
  }
  AlignedAccuracy found{.aligned = share_interval(with, confidence),
                        .conflicting = share_interval(against, confidence),
                        .gap = {}};
  if (found.aligned.defined() && found.conflicting.defined())
    found.gap = share_difference(with, against, confidence);
  return found;
}

}  // namespace fmd
