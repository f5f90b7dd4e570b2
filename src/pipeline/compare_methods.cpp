#include "pipeline/compare_methods.h"

#include <cmath>

#include <fmt/format.h>

#include "fmd/pipeline/compare.h"
#include "fmd/repair/candidates.h"
#include "fmd/repair/controls.h"

namespace fmd::internal {
namespace {

using Fitted = std::vector<BaselineCandidate>;

BaselineCandidate with_head(const CompareGround& g, std::string setting, Vector theta) {
  return {std::move(setting),
          [head = *g.problem.head->as_linear(), threshold = g.problem.threshold,
           theta = std::move(theta)](const BaselineRows& asked, const Exec& exec) {
            return head_answers(head, theta, threshold, asked.rows, exec);
          }};
}

Fitted fit_vanilla(const CompareGround& g, const Exec&) {
  return {with_head(g, "", g.problem.theta)};
}

Fitted fit_tempered(const CompareGround& g, const Exec& exec) {
  Tempered cooled = tempered(g.problem, g.problem.edit, exec);
  return {
      with_head(g, fmt::format("T={:.3g}", cooled.temperature), std::move(cooled.theta))};
}

// Shifts to the share of favourable labels: this shows what a shift alone does.
Fitted fit_shifted(const CompareGround& g, const Exec& exec) {
  const double rate = favorable_labels(g.problem, g.problem.edit);
  return {with_head(g, fmt::format("rate={:.3g}", rate),
                    shifted(g.problem, g.problem.theta, g.problem.edit, rate, exec))};
}

Fitted fit_retrained(const CompareGround& g, const Exec& exec) {
  return {with_head(g, "", retrained_without(g.problem, exec))};
}

Fitted fit_fine_tuned(const CompareGround& g, const Exec& exec) {
  return {with_head(g, "", fine_tuned(g.problem, exec))};
}

// Candidates of fmd debias.
Fitted fit_debiased(const CompareGround& g, RepairMethod method, const Exec& exec) {
  RepairOptions options;
  options.method = method;
  if (g.target && method == RepairMethod::solve) options.target = g.target;
  Fitted fitted;
  for (const Candidate& candidate : make_candidates(g.problem, options, exec).all) {
    CandidateAt where;
    if (std::isfinite(candidate.lambda)) where.lambda = candidate.lambda;
    if (std::isfinite(candidate.s)) where.s = candidate.s;
    if (candidate.K > 0) where.rows = candidate.K;
    if (std::isfinite(candidate.gamma)) where.gamma = candidate.gamma;
    fitted.push_back(with_head(g, where.any() ? to_string(where) : "", candidate.theta));
  }
  return fitted;
}

std::string no_reason(const CompareGround&) { return ""; }

std::string no_train(const CompareGround& g) {
  return g.problem.train ? "" : "needs the rows that the model was trained on";
}

std::string no_shift(const CompareGround& g) {
  if (g.problem.favorable < 0) return "needs a favourable class";
  const bool intercept = !layers_of(*g.problem.head).back().head.intercepts().empty();
  return intercept ? "" : "the model has no intercept";
}

std::string not_read(const CompareGround& g) {
  const std::string& name = g.problem.group(g.problem.edit, 0).name;
  if (g.reads) return "";
  return g.flips ? "the model does not read " + name
                 : name + " is ranges of a number, which cannot be flipped";
}

// Why a method cannot change the column itself.
std::string column_not_read(const CompareGround& g) {
  if (!g.reads || g.problem.attribute_features) return not_read(g);
  return g.problem.group(g.problem.edit, 0).name + " is read below the last layer";
}

// Why a method that would fit a linear head again does not work on trees.
std::string trees_refit(const CompareGround& g) {
  return g.trees ? "the trees' own library must fit them again" : "";
}

std::string column_or_train(const CompareGround& g) {
  if (g.reads && g.trees) return trees_refit(g);
  const std::string reason = column_not_read(g);
  return reason.empty() ? no_train(g) : reason;
}

struct ControlEntry {
  const char* name;
  const char* title;
  std::string (*reason)(const CompareGround&);
  Fitted (*fit)(const CompareGround&, const Exec&);
};

constexpr ControlEntry kControls[] = {
    {kVanilla, "the model as it is", no_reason, fit_vanilla},
    {"tempered", "logits divided by T", no_reason, fit_tempered},
    {"intercept-shift", "intercept shifted", no_shift, fit_shifted},
    {"retrained-without", "retrained without the column", column_or_train, fit_retrained},
    {"fine-tuned", "fine-tuned on the pairs", not_read, fit_fine_tuned},
};

}  // namespace

std::vector<CompareMethod> all_methods(const CompareGround& g) {
  std::vector<CompareMethod> all;
  for (const ControlEntry& entry : kControls)
    all.push_back({entry.name, entry.title, "control", "", "nothing", false, false,
                   entry.reason(g), false,
                   [&g, fit = entry.fit](const Exec& exec) { return fit(g, exec); }});
  for (const RepairMethodInfo& info : repair_methods()) {
    if (!info.compared) continue;
    std::string reason = info.on_columns ? column_not_read(g) : not_read(g);
    if (reason.empty() && info.trains)
      reason = g.trees ? "the values of leaves are no optimum, so they have no Hessian"
                       : no_train(g);
    all.push_back({to_string(info.method), info.title, "fmd", "", "nothing", false, false,
                   std::move(reason), false, [&g, method = info.method](const Exec& exec) {
                     return fit_debiased(g, method, exec);
                   }});
  }
  for (const BaselineInfo& info : baselines()) {
    const std::string needs = info.needs;
    std::string reason;
    if (g.trees && info.network)
      reason = "it trains a network, not trees";
    else if (info.trains || info.whole_head)
      reason = trees_refit(g);
    if (reason.empty()) reason = why_not(info, g.problem);
    all.push_back({info.name, info.title, "rival", info.source, needs, info.decisions_only,
                   needs.starts_with("the attribute"), std::move(reason), info.network,
                   [&g, name = std::string(info.name)](const Exec& exec) {
                     return fit_baseline(name, g.problem, exec, g.baseline);
                   }});
  }
  return all;
}

}  // namespace fmd::internal

namespace fmd {

std::vector<std::string> compare_methods() {
  std::vector<std::string> names;
  for (const ControlEntry& entry : kControls) names.emplace_back(entry.name);
  for (const RepairMethodInfo& info : repair_methods())
    if (info.compared) names.push_back(to_string(info.method));
  for (const BaselineInfo& info : baselines()) names.emplace_back(info.name);
  return names;
}

}  // namespace fmd
