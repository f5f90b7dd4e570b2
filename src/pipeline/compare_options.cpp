#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.h"
#include "pipeline/compare_rows.h"

namespace fmd {

std::vector<std::string> compare_methods() {
  std::vector<std::string> names = {
      "vanilla", "tempered", "intercept-shift", "retrained-without", "fine-tuned",
      "solve",   "step",     "remove",          "replace",           "average-column"};
  for (const BaselineInfo& info : baselines()) names.emplace_back(info.name);
  return names;
}

void validate(const CompareInput& input, const CompareOptions& options) {
  require_option(options.max_accuracy_loss >= 0 && options.max_accuracy_loss <= 1,
                 "compare", "max_accuracy_loss", options.max_accuracy_loss, "in [0, 1]");
  require_option(options.replicates >= 0, "compare", "replicates", options.replicates,
                 ">= 0");
  const std::vector<std::string> names = compare_methods();
  for (const std::string& name : options.methods)
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("compare: there is no method {}", name),
                  fmt::format("methods: {}", fmt::join(names, ", ")));
    }
  std::vector<std::string> taken = names;
  for (const OutsideScores& o : input.outside) {
    if (std::find(taken.begin(), taken.end(), o.name) != taken.end()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("compare: the name {} is taken already", o.name),
                  "give outside scores a name of their own");
    }
    taken.push_back(o.name);
  }
}

}  // namespace fmd
