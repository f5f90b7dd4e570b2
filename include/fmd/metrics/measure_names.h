#pragma once

#include <string>
#include <vector>

namespace fmd {

// The one list of measures. Limits, targets, --metrics and [limits] of a task name them.
// Flips first, then the group measures in the order of a report, then those of pairs.
[[nodiscard]] const std::vector<std::string>& measure_names();

// The measure that a name means: the name itself, or that of Fairlearn, AIF360 or
// scikit-learn ("demographic_parity_difference", "f1_score_difference"). "" = unknown.
[[nodiscard]] std::string find_measure(const std::string& name);
// The same for rates of one group ("recall_score" is tpr). "" = unknown.
[[nodiscard]] std::string find_rate_name(const std::string& name);

// find_measure(). Throws Error(bad_option) that suggests the nearest name; `what` begins
// the message ("limit magic:sex=.1").
[[nodiscard]] std::string measure_named(const std::string& name, const std::string& what);

// The measures of flips that stand beside the figures of PairGaps. co_mean is `co`, also
// where a limit on `co` would judge the worst pair of values.
[[nodiscard]] const std::vector<std::string>& flip_measure_names();

}  // namespace fmd
