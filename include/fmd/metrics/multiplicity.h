#pragma once

#include <vector>

// Many comparisons at once.
namespace fmd {

// p-values adjusted for their number, in the same order. Undefined ones (NaN) stay
// undefined and do not count. Holm: the chance of any false alarm stays below the level,
// whatever the dependence of the tests. Benjamini-Hochberg: the expected share of false
// alarms stays below it, for independent or positively dependent tests. Throw
// Error(bad_option) for values outside [0, 1].
[[nodiscard]] std::vector<double> holm(const std::vector<double>& p_values);
[[nodiscard]] std::vector<double> benjamini_hochberg(const std::vector<double>& p_values);

}  // namespace fmd
