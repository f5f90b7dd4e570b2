#include "fmd/baselines/baseline.h"

#include <fmt/format.h>

#include "baselines/methods.h"
#include "baselines/network_training.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"

namespace fmd {
namespace {

// To add a method: its algorithm gets a header and a source of its own in this part, a
// function in baselines/methods.h gives its candidates, and it gets a line in this table.
// `fmd compare` then offers it.
// Those that train a network have their settings in baselines/network_training.cpp.
struct Method {
  BaselineInfo info;
  std::vector<BaselineCandidate> (*fit)(const HeadProblem&, const Exec&);
};

BaselineInfo network(const char* name, const char* title, const char* source) {
  BaselineInfo info{name, title, source, "nothing", false, false, false, true, false};
  info.network = true;
  return info;
}

const std::vector<Method>& methods() {
  static const std::vector<Method> all = {
      {{"reweigh", "reweighing", "Kamiran and Calders 2012", "nothing", false, false, false,
        true, false},
       fit_reweigh},
      {{"influence-reweigh", "reweighing by influence", "Li and Liu 2022", "nothing", true,
        true, true, true, false},
       fit_influence_reweigh},
      {{"eqodd", "equalised odds", "Hardt et al. 2016", "the attribute, lots", true, true,
        true, false, true},
       fit_eqodd},
      {{"ceqodd", "calibrated equalised odds", "Pleiss et al. 2017", "the attribute, lots",
        true, true, true, false, false},
       fit_ceqodd},
      {{"reject", "reject option", "Kamiran et al. 2012", "the attribute", true, true, true,
        false, true},
       fit_reject},
      {{"group-thresholds", "threshold per group", "Hardt et al. 2016", "the attribute",
        true, false, true, false, true},
       fit_thresholds},
      {{"ppif", "smoothing on a graph", "Petersen et al. 2021", "all rows together", false,
        false, false, false, false},
       fit_ppif},
      {{"dfr", "last layer on balanced groups", "Kirichenko et al. 2023", "nothing", true,
        false, false, false, false, true},
       fit_dfr_method},
      {network("plain-network", "a network trained as usual", "control"), nullptr},
      {network("groupdro", "GroupDRO", "Sagawa et al. 2020"), nullptr},
      {network("lff", "learning from failure", "Nam et al. 2020"), nullptr},
      {network("ldr", "disentangled features", "Lee et al. 2021"), nullptr},
      {network("rebias", "features independent of a biased network", "Bahng et al. 2020"),
       nullptr},
      {network("sensr", "sensitive subspace robustness", "Yurochkin et al. 2020"), nullptr},
      {network("sensei", "sensitive set invariance", "Yurochkin and Sun 2021"), nullptr},
  };
  return all;
}

}  // namespace

const std::vector<BaselineInfo>& baselines() {
  static const std::vector<BaselineInfo> all = [] {
    std::vector<BaselineInfo> infos;
    for (const Method& method : methods()) infos.push_back(method.info);
    return infos;
  }();
  return all;
}

const BaselineInfo* find_baseline(const std::string& name) {
  for (const BaselineInfo& info : baselines())
    if (info.name == name) return &info;
  return nullptr;
}

std::string why_not(const BaselineInfo& info, const HeadProblem& problem) {
  if (!problem.head->linear()) return "needs a linear head";
  const Index classes = classes_of(problem.head->outputs());
  const Index groups = problem.group(problem.edit, 0).values;
  if (info.two_classes && problem.head->outputs() != 1)
    return fmt::format("needs two classes, there are {}", classes);
  if (info.two_groups && groups != 2)
    return fmt::format("needs an attribute of two values, there are {}", groups);
  if (info.favorable && problem.favorable < 0) return "needs a favourable class";
  if (info.trains && !problem.train) return "needs the rows that the model was trained on";
  if (info.whole_head && !problem.head->as_linear()->whole())
    return "needs a head with an intercept";
  return "";
}

std::vector<BaselineCandidate> fit_baseline(const std::string& name,
                                            const HeadProblem& problem, const Exec& exec,
                                            const BaselineOptions& options) {
  for (const Method& method : methods()) {
    if (method.info.name != name) continue;
    const std::string reason = why_not(method.info, problem);
    if (!reason.empty()) {
      throw Error(ErrorKind::unsupported, fmt::format("{}: {}", name, reason),
                  "leave this method out");
    }
    if (method.info.network) return fit_network(name, problem, options, exec);
    return method.fit(problem, exec);
  }
  std::string names;
  for (const Method& method : methods())
    names += (names.empty() ? "" : ", ") + std::string(method.info.name);
  throw Error(ErrorKind::bad_option, fmt::format("there is no method {}", name),
              "methods: " + names);
}

std::vector<std::int32_t> draw_decisions(const Answers& answers, std::uint64_t seed) {
  std::vector<std::int32_t> drawn;
  for (Index i = 0; i < answers.decision.rows(); ++i) {
    Rng rng(seed, "lots", static_cast<std::uint64_t>(i));
    double u = rng.uniform();
    std::int32_t k = 0;
    while (k + 1 < answers.decision.cols() && u >= answers.decision(i, k))
      u -= answers.decision(i, k++);
    drawn.push_back(k);
  }
  return drawn;
}

Answers head_answers(const LinearHead& head, const Vector& theta, double threshold,
                     const Rows& rows, const Exec& exec) {
  Answers answers;
  answers.p = all_probabilities(head, rows, theta, exec);
  answers.decision = one_hot(decide(answers.p, threshold), answers.p.cols());
  return answers;
}

}  // namespace fmd
