#include "data/attribute/ranges.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/number.h"

namespace fmd::internal {

std::vector<double> quantile_cuts(std::vector<double> numbers, Index ranges) {
  std::sort(numbers.begin(), numbers.end());
  const auto n = static_cast<double>(numbers.size());
  std::vector<double> cuts;
  for (Index k = 1; k < ranges && !numbers.empty(); ++k) {
    const double wanted = n * static_cast<double>(k) / static_cast<double>(ranges);
    const double here =
        numbers[std::min(static_cast<std::size_t>(wanted), numbers.size() - 1)];
    const auto [first, last] = std::equal_range(numbers.begin(), numbers.end(), here);
    const auto below = static_cast<double>(first - numbers.begin());
    const auto beyond = static_cast<double>(last - numbers.begin());
    // Equal numbers stay together: the range begins before or after them, whichever is
    // nearer.
    const auto begin = wanted - below <= beyond - wanted ? first : last;
    if (begin == numbers.begin() || begin == numbers.end()) continue;
    if (cuts.empty() || *begin > cuts.back()) cuts.push_back(*begin);
  }
  return cuts;
}

std::vector<std::string> range_names(const std::vector<double>& cuts) {
  std::vector<std::string> names = {"under " + number_text(cuts.front())};
  for (std::size_t k = 1; k < cuts.size(); ++k)
    names.push_back(
        fmt::format("{} to {}", number_text(cuts[k - 1]), number_text(cuts[k])));
  names.push_back(number_text(cuts.back()) + " and over");
  return names;
}

}  // namespace fmd::internal
