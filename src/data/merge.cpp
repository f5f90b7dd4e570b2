#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/match_rules.h"
#include "data/number.h"
#include "data/task_rules.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/data/task.h"

namespace fmd {
namespace {

void set_threshold(Task& task, const std::string& text) {
  const bool rate = text.starts_with("rate=");
  double value = 0;
  const bool number = parse_number(std::string_view(text).substr(rate ? 5 : 0), value) ==
                      NumberText::number;
  if (!number || !(value > 0 && value < 1)) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("threshold is \"{}\", must be a number between 0 and 1 or rate=R",
                    shorten(text)),
        "0.3: positive from p = 0.3 on; rate=0.2: so that 20 % of the training rows are");
  }
  task.threshold = rate ? 0.5 : value;
  task.rate = rate ? std::optional<double>(value) : std::nullopt;
}

void set_positive(Task& task, const std::string& positive) {
  if (task.classes.empty()) return;  // label_classes() is told when the table is read
  const auto at = std::find(task.classes.begin(), task.classes.end(), positive);
  if (at == task.classes.end()) {
    throw Error(ErrorKind::bad_option,
                fmt::format("positive is \"{}\", must be one of {}", shorten(positive),
                            list_words(task.classes)));
  }
  if (!task.binary()) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("positive is for two classes; there are {}", task.classes.size()));
  }
  if (at == task.classes.begin()) std::swap(task.classes[0], task.classes[1]);
}

bool is_rich(const AttributeSpec& spec) {
  AttributeSpec plain{.name = spec.name, .columns = spec.columns};
  return spec != plain || (!spec.columns.empty() && spec.columns != std::vector{spec.name});
}

// The list that the overrides give; what is known already of an attribute stays unless they
// say more than its name.
std::vector<AttributeSpec> new_attributes(const Task& task,
                                          const TaskOverrides& overrides) {
  std::vector<AttributeSpec> result;
  const auto add = [&](AttributeSpec spec) {
    if (spec.columns.empty()) spec.columns = {spec.name};
    for (AttributeSpec& known : result) {
      if (known.name != spec.name) continue;
      if (is_rich(known) && is_rich(spec) && known != spec) {
        throw Error(
            ErrorKind::bad_option,
            fmt::format("attribute \"{}\" is asked for in two ways", shorten(spec.name)),
            "name it once");
      }
      if (!is_rich(known)) known = std::move(spec);
      return;
    }
    const AttributeSpec* known = task.find(spec.name);
    result.push_back(known != nullptr && !is_rich(spec) ? *known : std::move(spec));
  };
  if (overrides.attribute_specs)
    for (const AttributeSpec& spec : *overrides.attribute_specs) add(spec);
  if (overrides.attributes)
    for (const std::string& name : *overrides.attributes) add(parse_attribute(name));
  return result;
}

void set_pairs(Task& task, const std::string& pairs) {
  if (!is_pairs(pairs)) {
    throw Error(ErrorKind::bad_option,
                fmt::format("pairs is \"{}\", must be {}", shorten(pairs), kPairs));
  }
  for (AttributeSpec& spec : task.attributes) {
    spec.pairs = pairs;
    if (is_match(spec)) continue;
    spec.match_columns.clear();
    spec.caliper.clear();
    spec.reuse = AttributeSpec{}.reuse;
  }
}

void set_unseen(Task& task, const std::string& unseen) {
  if (unseen != "error" && unseen != "bucket") {
    throw Error(ErrorKind::bad_option,
                fmt::format("unseen is \"{}\", must be error or bucket", shorten(unseen)));
  }
  task.unseen = unseen == "error" ? Unseen::error : Unseen::bucket;
}

}  // namespace

bool is_pairs(const std::string& pairs) {
  return pairs == "flip" || (pairs.starts_with("given:") && pairs.size() > 6) ||
         pairs == "match" || pairs == "match:overlap" || pairs == "match:mahalanobis" ||
         pairs == "match:cosine";
}

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
  if ((spec.quantiles != 0 || !spec.cuts.empty()) && spec.columns.size() > 1)
    return fail("quantiles and cuts are for one column");
  return "";
}

std::string contradiction(const Task& task) {
  const auto& classes = task.classes;
  for (auto at = classes.begin(); at != classes.end(); ++at)
    if (std::find(at + 1, classes.end(), *at) != classes.end())
      return fmt::format("the class \"{}\" stands twice", shorten(*at));
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
      return fmt::format("attribute \"{}\" stands twice", shorten(spec.name));
    }
    if (!is_pairs(spec.pairs)) {
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

Task merge(Task task, const TaskOverrides& overrides) {
  if (overrides.label) task.label = *overrides.label;
  if (overrides.classes) task.classes = *overrides.classes;
  if (overrides.positive) set_positive(task, *overrides.positive);
  if (overrides.favorable) task.favorable = *overrides.favorable;
  if (overrides.threshold) set_threshold(task, *overrides.threshold);
  if (overrides.weight) task.weight = *overrides.weight;
  if (overrides.id) task.id = *overrides.id;
  if (overrides.attributes || overrides.attribute_specs)
    task.attributes = new_attributes(task, overrides);
  if (overrides.pairs) set_pairs(task, *overrides.pairs);
  set_match(task, overrides);
  if (overrides.ignore) task.ignore = *overrides.ignore;
  if (overrides.unseen) set_unseen(task, *overrides.unseen);
  if (overrides.types)
    for (const auto& [name, kind] : *overrides.types) task.types[name] = kind;
  if (overrides.limits) task.limits = *overrides.limits;
  if (overrides.min_group) task.min_group = *overrides.min_group;
  if (overrides.min_label) task.min_label = *overrides.min_label;
  const std::string wrong = contradiction(task);
  if (!wrong.empty()) throw Error(ErrorKind::bad_task, "task: " + wrong);
  return task;
}

}  // namespace fmd
