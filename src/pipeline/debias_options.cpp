#include "fmd/pipeline/debias_options.h"

#include "core/check.h"
#include "core/named_field.h"
#include "data/field_json.h"
#include "fmd/metrics/measure_names.h"
#include "pipeline/debias_options.h"
#include "report/json.h"

namespace fmd {

namespace {

TextField target_field(std::optional<Limit>& target) {
  return {.get = [&target] { return target ? to_string(*target) : std::string(); },
          .set =
              [&target](const std::string& text) {
                target = parse_limit(text);
                target->measure = measure_named(target->measure, "target " + text);
              }};
}

TextsField limits_field(std::vector<Limit>& limits) {
  return {.get =
              [&limits] {
                std::vector<std::string> texts;
                for (const Limit& limit : limits) texts.push_back(to_string(limit));
                return texts;
              },
          .set =
              [&limits](const std::vector<std::string>& texts) {
                limits.clear();
                for (const std::string& text : texts) limits.push_back(parse_limit(text));
              }};
}

}  // namespace

std::vector<OptionField> fields(DebiasOptions& o) {
  NewtonOptions& n = o.newton;
  return {
      {.name = "method",
       .value = named(o.method, parse_method),
       .flag = "--method",
       .help = "solve, path, step, remove, replace or average-column"},
      // The flag also takes "all", which needs the model.
      {.name = "layers", .value = &o.layers, .optional = true},
      {.name = "optimizer",
       .value = named(o.optimizer, parse_optimizer),
       .flag = "--optimizer",
       .help = "solve on two or more layers of a network: auto, lm or adam",
       .optional = true},
      {.name = "repair", .value = &o.repair},
      {.name = "target",
       .value = target_field(o.target),
       .flag = "--target",
       .help = "Take the most accurate candidate that meets this, e.g. co=.005, "
               "co:sex=.005, demographic_parity=.05, equal_opportunity=.05 or "
               "equalized_odds=.05 (matched pairs: equalized_odds_soft=.05)",
       .shows_default = false,
       .optional = true},
      {.name = "may_use_attribute",
       .value = &o.may_use_attribute,
       .flag = "--may-use-attribute",
       .help = "With a target on a group gap: the flip gap may rise",
       .optional = true},
      {.name = "max_accuracy_loss",
       .value = &o.max_accuracy_loss,
       .flag = "--max-accuracy-loss",
       .help = "Take the least biased candidate that loses at most this accuracy; 0.01 = "
               "one point"},
      {.name = "only_if_over",
       .value = &o.only_if_over,
       .flag = "--only-if-over",
       .help = "Repair nothing, and exit with 0, when the gap on DATA is at most this; 0: "
               "repair in any case",
       .least = 0,
       .shows_default = false,
       .optional = true},
      {.name = "at",
       .value = named(o.at, parse_at),
       .flag = "--at",
       .help = "Take this candidate of OUT.path.json: lambda=X, s=X, s=X,K=N or "
               "gamma=X,mu=Y",
       .shows_default = false,
       .optional = true},
      {.name = "best_effort",
       .value = &o.best_effort,
       .flag = "--best-effort",
       .help = "When no candidate meets the rule, write the least biased one"},
      {.name = "keep_rate",
       .value = &o.keep_rate,
       .flag = "--keep-rate",
       .help = "Shift the intercept so that the favourable rate stays the same"},
      {.name = "risk",
       .value = &o.risk,
       .flag = "--risk",
       .help = "Chance of exceeding --max-accuracy-loss that is accepted; .5 judges the "
               "point estimate",
       .least = 1e-6,
       .most = 0.5,
       .optional = true},
      {.name = "strict",
       .value = &o.strict,
       .flag = "--strict",
       .help = "Write nothing when DATA is too small to prove that the accuracy is kept",
       .optional = true},
      {.name = "folds",
       .value = &o.folds,
       .flag = "--folds",
       .help = "Folds of DATA for cross-fitting; 0: choose on a hold-out of 20 % of DATA",
       .least = 0,
       .most = 100,
       .optional = true},
      {.name = "holdout_share", .value = &o.holdout_share},
      {.name = "hessian",
       .value = named(o.hessian, parse_hessian),
       .flag = "--hessian",
       .help = "Rows that the curvature is computed from: train or data; train when "
               "--train is given",
       .shows_default = false},
      {.name = "points",
       .value = &o.points,
       .flag = "--points",
       .help = "solve, path: candidates along the path",
       .least = 2,
       .most = 1000},
      {.name = "polish",
       .value = named(o.polish, parse_polish),
       .flag = "--polish",
       .help =
           "Trees: also change leaves that a flip does not reach, in a few steps; auto: "
           "where the repair loses accuracy; on or off",
       .optional = true},
      {.name = "monotone",
       .value = &o.monotone,
       .flag = "--monotone",
       .help =
           "Trees: the answer must not fall (+1) or not rise (-1) with this input, e.g. "
           "age=+1; beside the rules that the file states",
       .shows_default = false,
       .optional = true},
      {.name = "allow_nonmonotone",
       .value = &o.allow_nonmonotone,
       .flag = "--allow-nonmonotone",
       .help = "Trees: a repair may break these rules",
       .optional = true},
      {.name = "anchor",
       .value = &o.anchor,
       .flag = "--anchor",
       .help = "solve: weight of staying close to the model's outputs"},
      {.name = "fit",
       .value = &o.fit,
       .flag = "--fit",
       .help = "solve: weight of the labels on the pairs"},
      {.name = "mu",
       .value = &o.mu,
       .flag = "--mu",
       .help = "solve: weight of staying close in the parameters; -1 = the model's l2"},
      {.name = "gaps",
       .value = limits_field(o.gaps),
       .flag = "--gap",
       .help = "solve: also lower a soft group gap, with this weight, e.g. "
               "demographic_parity_soft:sex=10",
       .shows_default = false},
      {.name = "scale",
       .value = named(n.scale, parse_scale),
       .flag = "--scale",
       .help = "step, remove, replace: factor s; auto, as-printed (1), removal (1/n) or a "
               "number"},
      {.name = "rows",
       .value = &n.rows,
       .flag = "--rows",
       .help = "remove, replace: number of training rows; without --rows, it is chosen on "
               "the hold-out",
       .least = 1,
       .most = 0x1p40,
       .shows_default = false},
      {.name = "refresh",
       .value = &n.refresh,
       .flag = "--refresh",
       .help = "step, remove, replace: this many steps of s / N, each with a new Hessian"},
      {.name = "solver",
       .value = named(n.solver, parse_solver),
       .flag = "--solver",
       .help = "Solver for H^-1 v: auto, cholesky, cg, lissa or kfac"},
      {.name = "confidence", .value = &o.audit.confidence},
      {.name = "replicates",
       .value = &o.audit.replicates,
       .flag = "--replicates",
       .help = "Bootstrap replicates",
       .least = 50,
       .most = 1000000},
      {.name = "intersections", .value = &o.audit.intersections},
  };
}

std::string options_json(const DebiasOptions& options, std::uint64_t seed) {
  DebiasOptions copy = options;
  Json json = fields_json(fields(copy));
  json["seed"] = seed;
  return json.dump();
}

ParsedOptions parse_options(const std::string& text, const std::string& source) {
  const nlohmann::json json = JsonReader::parse(text, source);
  const JsonReader in(json, source + ", options");
  ParsedOptions parsed;
  if (!json.contains("folds")) {  // a receipt of schema 1: a hold-out, its point estimate
    parsed.options.folds = 0;
    parsed.options.risk = 0.5;
    parsed.options.target_on_mean = true;
  }
  read_fields(in, fields(parsed.options));
  if (!json.contains("seed") || !json["seed"].is_number_unsigned())
    in.fail("\"seed\" must be a whole number >= 0");
  parsed.seed = json["seed"].get<std::uint64_t>();  // all 64 bits
  return parsed;
}

}  // namespace fmd

namespace fmd::internal {

void require_valid(const DebiasOptions& o, bool has_train) {
  require_option(o.holdout_share > 0 && o.holdout_share < 1, "debias", "holdout_share",
                 o.holdout_share, "between 0 and 1");
  require_option(o.folds == 0 || (o.folds >= 2 && o.folds <= 100), "debias", "folds",
                 o.folds, "0, or from 2 to 100");
  // Options also come from receipts, which anybody may have written.
  require_option(o.audit.replicates >= 1 && o.audit.replicates <= 1000000, "debias",
                 "replicates", o.audit.replicates, "from 1 to 1000000");
  validate(o, has_train);
}

}  // namespace fmd::internal
