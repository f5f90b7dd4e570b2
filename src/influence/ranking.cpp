#include "fmd/influence/ranking.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/check.h"

namespace fmd {

std::vector<Index> most_harmful(std::span<const double> change, Index count) {
  require_option(count >= 0, "ranking", "count", count, ">= 0");
  std::vector<Index> entries;
  for (std::size_t i = 0; i < change.size(); ++i)
    if (change[i] < 0) entries.push_back(static_cast<Index>(i));
  const auto kept = std::min(count, static_cast<Index>(entries.size()));
  std::partial_sort(entries.begin(), entries.begin() + kept, entries.end(),
                    [&](Index a, Index b) {
                      const double x = change[static_cast<std::size_t>(a)],
                                   y = change[static_cast<std::size_t>(b)];
                      return x != y ? x < y : a < b;
                    });
  entries.resize(static_cast<std::size_t>(kept));
  return entries;
}

std::vector<InfluenceCell> influence_cells(std::span<const double> change,
                                           std::span<const std::int32_t> label,
                                           std::span<const std::int32_t> group) {
  require_size("cells", "label", static_cast<Index>(label.size()),
               static_cast<Index>(change.size()));
  require_size("cells", "group", static_cast<Index>(group.size()),
               static_cast<Index>(change.size()));
  std::map<std::pair<std::int32_t, std::int32_t>, InfluenceCell> cells;
  for (std::size_t i = 0; i < change.size(); ++i) {
    if (label[i] < 0 || group[i] < 0) continue;
    InfluenceCell& cell = cells[{label[i], group[i]}];
    cell.label = label[i];
    cell.group = group[i];
    ++cell.rows;
    cell.sum += change[i];
  }
  std::vector<InfluenceCell> sorted;
  for (const auto& [key, cell] : cells) sorted.push_back(cell);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const InfluenceCell& a, const InfluenceCell& b) {
                     return a.per_100() < b.per_100();
                   });
  return sorted;
}

}  // namespace fmd
