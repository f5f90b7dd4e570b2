#include "data/task/rules.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

std::string columns_contradiction(const Task& task, const AttributeSpec& spec) {
  if (match_by(spec) != "overlap")
    return fmt::format("match_columns are for pairs match:overlap, not {}", spec.pairs);
  for (const std::string& column : spec.match_columns) {
    if (std::find(spec.columns.begin(), spec.columns.end(), column) != spec.columns.end())
      return fmt::format("matching by \"{}\" is matching by the attribute itself",
                         shorten(column));
    if (column == task.label)
      return fmt::format("\"{}\" is the label: partners have the same one anyway",
                         shorten(column));
  }
  return "";
}

// What makes no sense in the matching that an attribute asks for; "" when nothing.
std::string match_contradiction(const Task& task, const AttributeSpec& spec) {
  if (!is_match(spec)) {
    if (!spec.match_columns.empty()) return "match_columns are for pairs match";
    if (!spec.caliper.empty()) return "a caliper is for pairs match";
    if (spec.reuse != AttributeSpec{}.reuse) return "reuse is for pairs match";
    return "";
  }
  try {
    (void)parse_caliper(spec.caliper);
  } catch (const Error& error) {
    return error.what();
  }
  return spec.match_columns.empty() ? "" : columns_contradiction(task, spec);
}

}  // namespace

bool are_quantiles(Index quantiles) { return quantiles >= 2 && quantiles <= 100; }

bool are_cuts(const std::vector<double>& cuts) {
  const auto wrong = [](double a, double b) { return !(a < b); };
  const auto finite = [](double cut) { return std::isfinite(cut); };
  return !cuts.empty() && cuts.size() < 100 &&
         std::all_of(cuts.begin(), cuts.end(), finite) &&
         std::adjacent_find(cuts.begin(), cuts.end(), wrong) == cuts.end();
}

std::string range_contradiction(const AttributeSpec& spec) {
  const auto fail = [&spec](const char* what) {
    return fmt::format("attribute \"{}\": {}", shorten(spec.name), what);
  };
  const int ways = (spec.quantiles != 0) + !spec.cuts.empty() + !spec.values.empty();
  if (ways > 1) return fail("has more than one of values, quantiles and cuts");
  if (spec.quantiles != 0 && !are_quantiles(spec.quantiles))
    return fail("quantiles must be a whole number from 2 to 100");
  if (!spec.cuts.empty() && !are_cuts(spec.cuts))
    return fail("cuts must ascend, at most 99 of them");
  if (!spec.one_hot.empty() && (ways > 0 || !spec.columns.empty()))
    return fail("one_hot goes without columns, values, quantiles and cuts");
  if ((spec.quantiles != 0 || !spec.cuts.empty()) && spec.columns.size() > 1)
    return fail("quantiles and cuts are for one column");
  return "";
}

std::string contradiction(const Task& task) {
  const auto& classes = task.classes;
  for (auto at = classes.begin(); at != classes.end(); ++at)
    if (std::find(at + 1, classes.end(), *at) != classes.end())
      return fmt::format("the class \"{}\" appears twice", shorten(*at));
  if (classes.size() == 1) return "classes has one class, two are needed";
  if (!task.favorable.empty() && !classes.empty() && task.favorable_class() < 0) {
    return fmt::format("favorable is \"{}\", must be one of {}", shorten(task.favorable),
                       list_words(classes));
  }
  if (!(task.threshold > 0 && task.threshold < 1)) {
    return fmt::format("threshold is {}, must be between 0 and 1", task.threshold);
  }
  if (task.rate && !(*task.rate > 0 && *task.rate < 1)) {
    return fmt::format("rate is {}, must be between 0 and 1", *task.rate);
  }
  for (const AttributeSpec& spec : task.attributes) {
    if (spec.name.empty()) return "an attribute has no name";
    if (task.find(spec.name) != &spec) {
      return fmt::format("attribute \"{}\" appears twice", shorten(spec.name));
    }
    if (!parse_pairs(spec.pairs)) {
      return fmt::format("attribute \"{}\": pairs is \"{}\", must be {}", spec.name,
                         shorten(spec.pairs), kPairs);
    }
    if (const std::string wrong = range_contradiction(spec); !wrong.empty()) return wrong;
    if (const std::string wrong = match_contradiction(task, spec); !wrong.empty())
      return fmt::format("attribute \"{}\": {}", shorten(spec.name), wrong);
    for (const std::string& column : spec.columns)
      if (!task.label.empty() && column == task.label)
        return fmt::format("attribute \"{}\" is the label", shorten(spec.name));
  }
  if (!task.label.empty() && (task.weight == task.label || task.id == task.label)) {
    return fmt::format("\"{}\" is both label and {}", shorten(task.label),
                       task.weight == task.label ? "weight" : "id");
  }
  return "";
}

}  // namespace fmd::internal
