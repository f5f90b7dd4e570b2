#include "fmd/metrics/multiplicity.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace fmd {
namespace {

// The positions of the defined p-values, the smallest p-value first.
std::vector<std::size_t> ranked(const std::vector<double>& p_values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (std::isnan(p_values[i])) continue;
    require_option(p_values[i] >= 0 && p_values[i] <= 1, "p-values", "p", p_values[i],
                   "between 0 and 1");
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  return order;
}

}  // namespace

std::vector<double> holm(const std::vector<double>& p_values) {
  std::vector<double> adjusted = p_values;
  const std::vector<std::size_t> order = ranked(p_values);
  double largest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto left = static_cast<double>(order.size() - k);
    largest = std::max(largest, std::min(1.0, left * p_values[order[k]]));
    adjusted[order[k]] = largest;
  }
  return adjusted;
}

std::vector<double> benjamini_hochberg(const std::vector<double>& p_values) {
  std::vector<double> adjusted = p_values;
  const std::vector<std::size_t> order = ranked(p_values);
  const auto all = static_cast<double>(order.size());
  double smallest = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    smallest = std::min(smallest, all * p_values[order[k]] / static_cast<double>(k + 1));
    adjusted[order[k]] = smallest;
  }
  return adjusted;
}

}  // namespace fmd
