#include "baselines/network_training.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "baselines/torch_training.h"
#include "core/check.h"
#include "core/index.h"
#include "fmd/fit/train.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "model/dense_rows.h"

namespace fmd::internal {
namespace {

using Json = nlohmann::json;

constexpr Index kNetworkBatch = 256;
constexpr double kLeastSteps = 300;

// How long a method is trained, and what it has of its own.
struct Recipe {
  std::string name;
  double epochs;
  std::vector<Json> settings;  // one for each candidate
  bool groups = false;         // it is told the attribute of each row
  bool distance = false;       // it needs directions in which answers must not change
};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {"plain-network", 20, {Json{{"method", "plain"}}}},
      {"groupdro",
       20,
       {Json{{"method", "groupdro"}, {"eta", .01}, {"adjustment", 0.0}, {"rate", .01}},
        Json{{"method", "groupdro"}, {"eta", .01}, {"adjustment", 2.0}, {"rate", .01}}},
       true},
      {"lff", 20, {Json{{"method", "lff"}, {"q", .7}, {"alpha", .7}}}},
      {"ldr",
       20,
       {Json{{"method", "ldr"},
             {"q", .7},
             {"alpha", .7},
             {"code", 16},
             {"lambda_dis", 10.0},
             {"lambda_swap", 1.0},
             {"lambda_swap_biased", 10.0}}}},
      {"rebias", 20, {Json{{"method", "rebias"}, {"lambda", 1.0}, {"decay", 1e-4}}}},
      {"sensr",
       5,
       {Json{{"method", "sensr"},
             {"epsilon", .1},
             {"attack_steps", 20},
             {"attack_rate", .01},
             {"lambda_rate", 1.0}}},
       false,
       true},
      {"sensei",
       5,
       {Json{{"method", "sensei"},
             {"rho", 1.0},
             {"epsilon", .1},
             {"attack_steps", 20},
             {"attack_rate", .01}},
        Json{{"method", "sensei"},
             {"rho", 5.0},
             {"epsilon", .1},
             {"attack_steps", 20},
             {"attack_rate", .01}}},
       false,
       true}};
  return all;
}

// Directions in which answers must not change: the features that carry the attribute, and
// the weights of linear models that predict each of its values from all features.
std::vector<float> fair_directions(const HeadProblem& problem, const Exec& exec) {
  const Rows& rows = problem.train->rows;
  const GroupCodes& group = problem.group(*problem.train, 0);
  const Index d = rows.X->cols();
  std::vector<float> all;
  for (const Index feature : problem.attribute_features.value_or(std::vector<Index>{})) {
    all.resize(all.size() + at(d), 0.0F);
    all[all.size() - at(d) + at(feature)] = 1;
  }
  std::vector<Index> known;
  for (Index i = 0; i < rows.size(); ++i)
    if (group.code[at(rows.row(i))] >= 0) known.push_back(rows.row(i));
  const Rows by_group{rows.X, group.code, {}, known};
  const LinearHead head(d, group.values == 2 ? 1 : group.values);
  const Vector theta = train_linear(head, by_group, {}, exec).theta;
  const Matrix W = head.W(theta);
  for (Index k = 0; k < W.rows(); ++k)
    for (Index j = 0; j < d; ++j) all.push_back(static_cast<float>(W(k, j)));
  return all;
}

// Labelled rows; where the method uses the attribute, those whose value is known.
TorchRows training_rows(const HeadProblem& problem, const Recipe& recipe,
                        const Exec& exec) {
  const Rows& rows = problem.train->rows;
  const std::span<const std::int32_t> group = problem.group(*problem.train, 0).code;
  TorchRows made;
  made.cols = rows.X->cols();
  std::vector<Index> used;
  for (Index i = 0; i < rows.size(); ++i) {
    const Index row = rows.row(i);
    if (rows.label(i) < 0 || (recipe.groups && group[at(row)] < 0)) continue;
    used.push_back(row);
    made.y.push_back(rows.label(i));
    if (recipe.groups) made.a.push_back(group[at(row)]);
  }
  if (used.empty())
    throw Error(ErrorKind::bad_data, "no training row has a label and a known attribute",
                "give other training rows");
  Scratch scratch;
  expand(*rows.X, used, scratch, made.X);
  if (recipe.distance) made.directions = fair_directions(problem, exec);
  return made;
}

BaselineCandidate network_candidate(const HeadProblem& problem, std::string setting,
                                    std::shared_ptr<const Head> head, Vector theta) {
  return {std::move(setting),
          [head = std::move(head), theta = std::move(theta), threshold = problem.threshold](
              const BaselineRows& asked, const Exec& exec) {
            Answers answers;
            answers.p = all_probabilities(*head, asked.rows, theta, exec);
            answers.decision = one_hot(decide(answers.p, threshold), answers.p.cols());
            return answers;
          }};
}

// What tells the candidates of a method apart.
std::string setting_name(const Json& settings) {
  for (const char* name : {"adjustment", "rho"})
    if (settings.contains(name))
      return fmt::format("{}={:g}", name, settings.at(name).get<double>());
  return "";
}

}  // namespace

FittedMethod fit_network(const std::string& name, const HeadProblem& problem,
                         const BaselineOptions& options, const Exec& exec) {
  const auto recipe = std::find_if(recipes().begin(), recipes().end(),
                                   [&](const Recipe& r) { return r.name == name; });
  const TorchRows rows = training_rows(problem, *recipe, exec);
  const auto count = static_cast<double>(rows.size());
  const Index batch = std::min<Index>(kNetworkBatch, rows.size());
  const double wanted =
      std::max(recipe->epochs * count / static_cast<double>(batch), kLeastSteps);
  const auto steps = static_cast<Index>(std::max(1.0, options.effort * wanted));
  FittedMethod candidates;
  for (Json settings : recipe->settings) {
    settings["hidden"] = options.hidden;
    settings["classes"] = classes_of(problem.head->outputs());
    if (recipe->groups) settings["groups"] = problem.group(*problem.train, 0).values;
    settings["batch"] = batch;
    settings["seed"] = exec.seed;
    if (name == "ldr") settings["swap_from"] = steps / 5;
    if (name == "rebias" && !options.image.empty()) {
      settings["image"] = options.image;
      settings["biased"] = "pixels";
    }
    TorchTraining training(name, settings.dump(), rows, exec);
    const auto candidate = [&] {
      auto [head, theta] = training.network();
      return network_candidate(problem, setting_name(settings), std::move(head),
                               std::move(theta));
    };
    training.run(steps, options.checkpoints,
                 options.watch ? [&] { return options.watch(candidate()); }
                               : std::function<std::vector<double>()>{},
                 exec);
    candidates.push_back(candidate());
    candidates.back().training = training.note();
  }
  return candidates;
}

}  // namespace fmd::internal
