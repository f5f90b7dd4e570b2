#include "pipeline/compare_methods.h"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "fmd/fit/train.h"
#include "fmd/unlearn/simple.h"
#include "fmd/unlearn/solve.h"
#include "pipeline/study_parts.h"

namespace fmd::internal {
namespace {

using Fitted = std::vector<BaselineCandidate>;

BaselineCandidate with_head(const CompareGround& ground, std::string setting,
                            Vector theta) {
  return {std::move(setting),
          [head = linear_head(ground.model), threshold = ground.model.task.threshold,
           theta = std::move(theta)](const BaselineRows& asked, const Exec& exec) {
            return head_answers(head, theta, threshold, asked.rows, exec);
          }};
}

Fitted fit_tempered(const CompareGround& g, const Exec& exec) {
  const double T =
      best_temperature(linear_head(g.model), g.model.theta, g.edit.view(), exec);
  return {with_head(g, fmt::format("T={:.3g}", T),
                    temper(linear_head(g.model), g.model.theta, T))};
}

// Shifts to the share of favourable labels: this shows what a shift alone does.
Fitted fit_shifted(const CompareGround& g, const Exec& exec) {
  const int favorable = g.model.task.favorable_class();
  double labels = 0;
  for (const Index row : g.edit.rows)
    labels += g.study.y[static_cast<std::size_t>(row)] == favorable;
  const double rate = labels / static_cast<double>(g.edit.rows.size());
  return {with_head(g, fmt::format("rate={:.3g}", rate),
                    shift_to_rate(linear_head(g.model), g.model.theta, g.edit.view(),
                                  g.model.task.threshold, favorable, rate, exec))};
}

// The attribute's features are 0 in all rows, so that the ridge leaves their weights at 0.
Fitted fit_retrained(const CompareGround& g, const Exec& exec) {
  const Rows rows = g.train->training_rows();
  FeaturePatch nothing;
  nothing.entries.resize(1);
  for (const Index f : g.problem.attribute_features) nothing.columns.push_back({f, f + 1});
  std::vector<Index> all(static_cast<std::size_t>(rows.X->rows()));
  std::iota(all.begin(), all.end(), Index{0});
  const std::vector<std::int32_t> to(all.size(), 0);
  const std::unique_ptr<Features> X = make_patched(*rows.X, all, nothing, to);
  const Rows without{.X = X.get(), .y = rows.y, .weight = rows.weight, .subset = {}};
  const LinearHead& head = linear_head(g.model);
  Vector theta = train_linear(head, without, {.l2 = g.model.note.l2}, exec).theta;
  for (Index k = 0; k < head.outputs(); ++k)
    for (const Index f : g.problem.attribute_features)
      if (const Index place = head.weight(k, f); place >= 0) theta[place] = 0;
  return {with_head(g, "", std::move(theta))};
}

// The labels of the edit rows and of their flips, nothing else.
Fitted fit_fine_tuned(const CompareGround& g, const Exec& exec) {
  const SolveOptions options{
      .anchor = 0, .fit = 1, .lambda = 0, .mu = g.model.note.l2, .gaps = {}};
  return {with_head(g, "",
                    solve(linear_head(g.model), g.model.theta, g.edit.view(), g.edit.sets(),
                          options, exec)
                        .theta)};
}

// Candidates of fmd debias.
Fitted fit_debiased(const CompareGround& g, const std::string& method, const Exec& exec) {
  DebiasOptions options;
  options.method = parse_method(method);
  const Candidates made =
      make_candidates({.model = g.model, .edit = g.edit, .train = g.train}, options, exec);
  Fitted fitted;
  for (const Candidate& candidate : made.all) {
    CandidateAt where;
    if (std::isfinite(candidate.lambda)) where.lambda = candidate.lambda;
    if (std::isfinite(candidate.s)) where.s = candidate.s;
    if (candidate.K > 0) where.rows = candidate.K;
    fitted.push_back(with_head(g, where.any() ? to_string(where) : "", candidate.theta));
  }
  return fitted;
}

constexpr const char* kNoTrain = "needs the rows that the model was trained on";

std::string not_read(const CompareGround& g) {
  const Attribute& a = g.study.attributes[g.attribute];
  if (g.reads) return "";
  return a.flips() ? "the model does not read " + a.name
                   : a.name + " is ranges of a number, which cannot be flipped";
}

// Why a method cannot change the column itself.
std::string column_not_read(const CompareGround& g) {
  if (!not_read(g).empty() || head_on_columns(g.model)) return not_read(g);
  return g.study.attributes[g.attribute].name + " is read below the last layer";
}

void add_controls(const CompareGround& g, std::vector<CompareMethod>& all) {
  const auto add = [&](const char* name, const char* title, std::string reason, auto fit) {
    all.push_back({name, title, "control", "", "nothing", false, false, std::move(reason),
                   [&g, fit](const Exec& exec) { return fit(g, exec); }});
  };
  add("vanilla", "the model as it is", "",
      [](const CompareGround& ground, const Exec&) -> Fitted {
        return {with_head(ground, "", ground.model.theta)};
      });
  add("tempered", "logits divided by T", "", fit_tempered);
  add("intercept-shift", "intercept shifted",
      g.model.task.favorable_class() < 0          ? "needs a favourable class"
      : linear_head(g.model).intercepts().empty() ? "the model has no intercept"
                                                  : "",
      fit_shifted);
  add("retrained-without", "retrained without the column",
      !column_not_read(g).empty() ? column_not_read(g)
      : g.train == nullptr        ? kNoTrain
                                  : "",
      fit_retrained);
  add("fine-tuned", "fine-tuned on the pairs", not_read(g), fit_fine_tuned);
}

void add_own(const CompareGround& g, std::vector<CompareMethod>& all) {
  const auto add = [&](const char* name, const char* title, bool trains,
                       bool column = false) {
    std::string reason = column ? column_not_read(g) : not_read(g);
    if (reason.empty() && trains && g.train == nullptr) reason = kNoTrain;
    all.push_back({name, title, "fmd", "", "nothing", false, false, std::move(reason),
                   [&g, method = std::string(name)](const Exec& exec) {
                     return fit_debiased(g, method, exec);
                   }});
  };
  add("solve", "consistency with an anchor", false);
  add("step", "Newton step on the pairs, Eq. 9", false);
  add("remove", "training rows removed, Eq. 7", true);
  add("replace", "training rows replaced, Eq. 8", true);
  add("average-column", "column averaged", false, true);
}

void add_rivals(const CompareGround& g, std::vector<CompareMethod>& all) {
  for (const BaselineInfo& info : baselines()) {
    const std::string needs = info.needs;
    all.push_back({info.name, info.title, "rival", info.source, needs, info.decisions_only,
                   needs.starts_with("the attribute"), why_not(info, g.problem),
                   [&g, name = std::string(info.name)](const Exec& exec) {
                     return fit_baseline(name, g.problem, exec);
                   }});
  }
}

}  // namespace

std::vector<CompareMethod> all_methods(const CompareGround& ground) {
  std::vector<CompareMethod> all;
  add_controls(ground, all);
  add_own(ground, all);
  add_rivals(ground, all);
  return all;
}

}  // namespace fmd::internal
