#include "fmd/metrics/measure_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/metrics/confusion.h"
#include "fmd/metrics/group.h"
#include "fmd/metrics/pair_gaps.h"
#include "fmd/metrics/score_curve.h"

namespace fmd {
namespace {

using Alias = std::pair<std::string_view, std::string_view>;

// Rates of one group by the names of other programs.
constexpr std::array kRates = {
    Alias{"true_positive_rate", "tpr"},
    Alias{"true_negative_rate", "tnr"},
    Alias{"false_positive_rate", "fpr"},
    Alias{"false_negative_rate", "fnr"},
    Alias{"false_discovery_rate", "fdr"},
    Alias{"false_omission_rate", "for"},
    Alias{"positive_predictive_value", "ppv"},
    Alias{"negative_predictive_value", "npv"},
    Alias{"recall", "tpr"},
    Alias{"recall_score", "tpr"},
    Alias{"sensitivity", "tpr"},
    Alias{"specificity", "tnr"},
    Alias{"precision", "ppv"},
    Alias{"precision_score", "ppv"},
    Alias{"accuracy_score", "accuracy"},
    Alias{"balanced_accuracy_score", "balanced_accuracy"},
    Alias{"zero_one_loss", "error_rate"},
    Alias{"f1_score", "f1"},
    Alias{"matthews_corrcoef", "mcc"},
    Alias{"roc_auc_score", "auc"},
    Alias{"average_precision_score", "average_precision"},
    Alias{"brier_score_loss", "brier"},
    Alias{"mean_absolute_error", "mae"},
    Alias{"r2_score", "r2"},
    Alias{"mean_prediction", "mean_score"},
};

// Measures that are not a rate with _difference or _ratio behind it.
constexpr std::array kMeasures = {
    Alias{"flip_gap", "co"},
    Alias{"demographic_parity_difference", "demographic_parity"},
    Alias{"demographic_parity_ratio", "selection_ratio"},
    Alias{"selection_rate_difference", "demographic_parity"},
    Alias{"selection_rate_ratio", "selection_ratio"},
    Alias{"mean_difference", "statistical_parity_difference"},
    Alias{"statistical_parity", "statistical_parity_difference"},
    Alias{"four_fifths", "selection_ratio"},
    Alias{"equalised_odds", "equalized_odds"},
    Alias{"tpr_difference", "equal_opportunity_difference"},
    Alias{"tpr_ratio", "equal_opportunity_ratio"},
    Alias{"ppv_difference", "predictive_parity_difference"},
    Alias{"ppv_ratio", "predictive_parity_ratio"},
    Alias{"accuracy_score_difference", "accuracy_difference"},
    Alias{"accuracy_score_group_min", "worst_group_accuracy"},
    Alias{"accuracy_group_min", "worst_group_accuracy"},
    Alias{"between_group_generalized_entropy_index", "between_group_entropy"},
    Alias{"generalized_entropy_index", "generalized_entropy"},
    Alias{"smoothed_empirical_differential_fairness", "differential_fairness"},
    Alias{"differential_fairness_bias_amplification", "bias_amplification"},
};

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <std::size_t N>
std::string_view find(const std::array<Alias, N>& aliases, std::string_view name) {
  const auto found = std::find_if(aliases.begin(), aliases.end(),
                                  [&](const Alias& a) { return a.first == name; });
  return found == aliases.end() ? std::string_view() : found->second;
}

// "recall_score_difference": the rate by its own name, and what is made of it.
std::string find_of_rate(std::string_view name) {
  for (const std::string_view end : {"_difference", "_ratio"}) {
    if (!name.ends_with(end)) continue;
    const std::string_view rate = find(kRates, name.substr(0, name.size() - end.size()));
    if (rate.empty()) continue;
    const std::string own = std::string(rate) + std::string(end);
    if (has(measure_names(), own)) return own;
    return std::string(find(kMeasures, own));
  }
  return "";
}

std::vector<std::string> all_words() {
  std::vector<std::string> words = measure_names();
  for (const Alias& alias : kMeasures) words.emplace_back(alias.first);
  for (const Alias& alias : kRates)
    for (const char* end : {"_difference", "_ratio"})
      if (const std::string name = std::string(alias.first) + end;
          !find_of_rate(name).empty())
        words.push_back(name);
  return words;
}

}  // namespace

const std::vector<std::string>& flip_measure_names() {
  static const std::vector<std::string> all = {"co",       "co_mean",  "co_tv",
                                               "co_worst", "co_large", "flip_rate"};
  return all;
}

const std::vector<std::string>& measure_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = flip_measure_names();
    const auto add = [&](const std::vector<std::string>& more) {
      for (const std::string& name : more)
        if (!has(names, name)) names.push_back(name);
    };
    add(PairGaps::names());
    add(group_measure_names());
    add({"selection_ratio", "worst_group_accuracy", "co_match_excess",
         "equalized_odds_soft"});
    return names;
  }();
  return all;
}

std::string find_measure(const std::string& name) {
  if (has(measure_names(), name)) return name;
  if (const std::string_view own = find(kMeasures, name); !own.empty())
    return std::string(own);
  return find_of_rate(name);
}

std::string find_rate_name(const std::string& name) {
  if (find_rate(name) != nullptr) return name;
  for (const ScoreMetricInfo& metric : score_metrics())
    if (name == metric.name) return name;
  return std::string(find(kRates, name));
}

namespace {

// The nearest word; short forms such as f1_diff stand for whole words.
std::string nearest_measure(std::string name) {
  const std::vector<std::string> words = all_words();
  for (char& c : name)
    c = c == '-' || c == ' '
            ? '_'
            : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (has(words, name)) return name;
  for (const auto& [end, whole] :
       {std::pair("_diff", "_difference"), {"_gap", "_difference"}, {"_rat", "_ratio"}})
    if (name.ends_with(end))
      if (std::string longer =
              name.substr(0, name.size() - std::string_view(end).size()) + whole;
          !find_measure(longer).empty())
        return longer;
  if (std::string nearest = internal::nearest_word(name, words); !nearest.empty())
    return nearest;
  // "tpr" for tpr_difference has an answer of its own; others begin alike.
  constexpr std::size_t kFewest = 4;
  for (const std::string& word : words)
    if (name.size() >= kFewest && word.starts_with(name)) return word;
  return "";
}

}  // namespace

std::string measure_named(const std::string& name, const std::string& what) {
  if (const std::string own = find_measure(name); !own.empty()) return own;
  const std::string nearest = nearest_measure(name);
  const std::string own = nearest.empty() ? "" : find_measure(nearest);
  const std::string rate = find_rate_name(name);
  std::string hint;
  if (!rate.empty()) {
    hint = fmt::format(
        "{} is of one group; a limit is on a difference or ratio of groups. ", rate);
  } else if (!own.empty()) {
    hint = fmt::format("did you mean {}{}? ", nearest,
                       own == nearest ? "" : " (here: " + own + ")");
  }
  // The whole list would fill a screen.
  throw Error(ErrorKind::bad_option,
              fmt::format("{}: unknown measure {}", what, internal::shorten(name)),
              hint +
                  "Often used: co, flip_rate, demographic_parity, equal_opportunity, "
                  "equalized_odds, disparate_impact, accuracy_difference, "
                  "worst_group_accuracy; all: docs/metrics.md, or audit --json");
}

}  // namespace fmd
