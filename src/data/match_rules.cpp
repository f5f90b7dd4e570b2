#include "data/match_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {
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

}  // namespace

bool is_match(const AttributeSpec& spec) { return spec.pairs.starts_with("match"); }

std::string match_by(const AttributeSpec& spec) {
  if (spec.pairs.starts_with("match:")) return spec.pairs.substr(6);
  return spec.match_columns.empty() ? "mahalanobis" : "overlap";
}

Caliper parse_caliper(const std::string& text) {
  if (text.empty()) return {};
  Caliper caliper;
  std::string_view number = text;
  caliper.deviations = number.ends_with("sd");
  if (caliper.deviations) number.remove_suffix(2);
  if (parse_number(number, caliper.value) != NumberText::number || caliper.value < 0) {
    throw Error(ErrorKind::bad_option,
                fmt::format("caliper is \"{}\", must be a distance >= 0", shorten(text)),
                "0.5: no pair further apart; 1sd: not further than one standard deviation "
                "above the mean nearest distance");
  }
  return caliper;
}

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

void set_match(Task& task, const TaskOverrides& overrides) {
  for (AttributeSpec& spec : task.attributes) {
    if (overrides.match_columns) spec.match_columns = *overrides.match_columns;
    if (overrides.caliper) spec.caliper = *overrides.caliper;
    if (overrides.reuse) spec.reuse = *overrides.reuse;
  }
}

}  // namespace fmd
