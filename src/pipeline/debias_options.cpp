#include "fmd/pipeline/debias_options.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/check.h"
#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/pipeline/debias.h"
#include "pipeline/debias_options.h"
#include "report/json.h"

namespace fmd {
namespace {

bool positive(double value) { return value > 0 && std::isfinite(value); }

std::optional<double> as_number(const std::string& text) {
  try {
    std::size_t read = 0;
    const double value = std::stod(text, &read);
    if (read == text.size()) return value;
  } catch (const std::exception&) {  // not a number, or one that no double can hold
  }
  return std::nullopt;
}

}  // namespace

double scale_factor(const std::string& scale, double n) {
  if (scale == "as-printed") return 1;
  if (scale == "removal") return 1 / n;
  const std::optional<double> value = as_number(scale);
  require_option(value && positive(*value), "debias", "scale", scale,
                 "auto, as-printed, removal or a number > 0");
  return *value;
}

CandidateAt parse_at(const std::string& text) {
  CandidateAt at;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string part = text.substr(start, end - start);
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, equals);
    const auto value = as_number(part.substr(std::min(equals + 1, part.size())));
    const bool known =
        name == "lambda" || name == "s" || name == "K" || name == "gamma" || name == "mu";
    if (!known || !value || (name == "K" && *value != std::floor(*value)))
      throw Error(ErrorKind::bad_option,
                  fmt::format("--at {}: \"{}\" names no candidate", text, part),
                  "write --at lambda=10, --at s=.001, --at s=.001,K=100 or --at "
                  "gamma=10,mu=1, as in OUT.path.json");
    if (name == "lambda") at.lambda = value;
    if (name == "s") at.s = value;
    if (name == "gamma") at.gamma = value;
    if (name == "mu") at.mu = value;
    if (name == "K") at.rows = static_cast<Index>(*value);
    start = end + 1;
  }
  return at;
}

std::string to_string(const CandidateAt& at) {
  std::string text;
  const auto add = [&](const std::string& part) {
    text += (text.empty() ? "" : ",") + part;
  };
  if (at.lambda) add(fmt::format("lambda={}", *at.lambda));
  if (at.s) add(fmt::format("s={}", *at.s));
  if (at.rows) add(fmt::format("K={}", *at.rows));
  if (at.gamma) add(fmt::format("gamma={}", *at.gamma));
  if (at.mu) add(fmt::format("mu={}", *at.mu));
  return text;
}

std::string options_json(const DebiasOptions& o, std::uint64_t seed) {
  Json json;
  json["method"] = o.method;
  json["layers"] = o.layers;
  json["optimizer"] = o.optimizer;
  json["repair"] = o.repair;
  json["target"] = o.target ? Json(to_string(*o.target)) : Json(nullptr);
  json["max_accuracy_loss"] = o.max_accuracy_loss;
  json["at"] = o.at.any() ? Json(to_string(o.at)) : Json(nullptr);
  json["best_effort"] = o.best_effort;
  json["keep_rate"] = o.keep_rate;
  json["holdout_share"] = o.holdout_share;
  json["hessian"] = o.hessian;
  json["points"] = o.points;
  json["anchor"] = o.anchor;
  json["fit"] = o.fit;
  json["mu"] = o.mu;
  json["gaps"] = Json::array();
  for (const Limit& gap : o.gaps) json["gaps"].push_back(to_string(gap));
  json["scale"] = o.newton.scale;
  json["rows"] = o.newton.rows;
  json["refresh"] = o.newton.refresh;
  json["solver"] = to_string(o.newton.solver);
  json["confidence"] = o.audit.confidence;
  json["replicates"] = o.audit.replicates;
  json["intersections"] = o.audit.intersections;
  json["seed"] = seed;
  return json.dump();
}

ParsedOptions parse_options(const std::string& text, const std::string& source) {
  const nlohmann::json json = JsonReader::parse(text, source);
  const JsonReader in(json, source + ", options");
  ParsedOptions parsed;
  DebiasOptions& o = parsed.options;
  o.method = in.text("method");
  if (in.has("layers")) o.layers = in.count("layers");
  if (in.has("optimizer")) o.optimizer = in.text("optimizer");
  o.repair = in.texts("repair");
  if (in.has("target")) o.target = parse_limit(in.text("target"));
  o.max_accuracy_loss = in.number("max_accuracy_loss");
  if (in.has("at")) o.at = parse_at(in.text("at"));
  o.best_effort = in.flag("best_effort");
  o.keep_rate = in.flag("keep_rate");
  o.holdout_share = in.number("holdout_share");
  o.hessian = in.text("hessian");
  o.points = in.count("points");
  o.anchor = in.number("anchor");
  o.fit = in.number("fit");
  o.mu = in.number("mu");
  for (const std::string& gap : in.texts("gaps")) o.gaps.push_back(parse_limit(gap));
  o.newton.scale = in.text("scale");
  o.newton.rows = in.count("rows");
  o.newton.refresh = static_cast<int>(std::min<Index>(in.count("refresh"), 1 << 30));
  o.newton.solver = parse_solver(in.text("solver"));
  o.audit.confidence = in.number("confidence");
  o.audit.replicates = in.count("replicates");
  o.audit.intersections = in.flag("intersections");
  if (!json.contains("seed") || !json["seed"].is_number_unsigned())
    in.fail("\"seed\" must be a whole number >= 0");
  parsed.seed = json["seed"].get<std::uint64_t>();  // all 64 bits
  return parsed;
}

}  // namespace fmd

namespace fmd::internal {
namespace {

void require_train(const DebiasOptions& o) {
  throw Error(
      ErrorKind::bad_option,
      o.hessian == "train"
          ? std::string("debias: hessian train needs the training rows")
          : fmt::format(
                "debias: method {} takes rows out of the training rows, and none are given",
                o.method),
      "give them with --train FILE, or use --method step or solve");
}

void validate_newton(const DebiasOptions& o, bool has_train) {
  const NewtonOptions& n = o.newton;
  if (n.scale != "auto") (void)scale_factor(n.scale, 1);
  require_option(n.rows >= 0, "debias", "rows", n.rows, ">= 1, or 0 to choose");
  require_option(n.refresh >= 1 && n.refresh <= 1000, "debias", "refresh", n.refresh,
                 "from 1 to 1000");
  if (!is_newton(o.method)) {
    require_option(
        n.scale == "auto" && n.rows == 0 && n.refresh == 1 && !o.at.s && !o.at.rows,
        "debias", "method", o.method,
        "step, remove or replace when scale, rows, refresh or at s is given");
    return;
  }
  const bool rows = o.method != "step";
  require_option(!o.at.lambda, "debias", "at", to_string(o.at),
                 fmt::format("s=X{} for method {}", rows ? ",K=N" : "", o.method));
  require_option(rows || (n.rows == 0 && !o.at.rows), "debias", "method", o.method,
                 "remove or replace when a number of training rows is given");
  require_option(!rows || !o.at.any() || (o.at.s && (o.at.rows || n.rows > 0)), "debias",
                 "at", to_string(o.at), fmt::format("s=X,K=N for method {}", o.method));
  if (rows && !has_train) require_train(o);
}

void validate_at(const CandidateAt& at) {
  if (at.lambda) require_option(*at.lambda >= 0, "debias", "at lambda", *at.lambda, ">= 0");
  if (at.s) require_option(positive(*at.s), "debias", "at s", *at.s, "> 0");
  if (at.gamma) require_option(*at.gamma >= 0, "debias", "at gamma", *at.gamma, ">= 0");
  if (at.mu) require_option(*at.mu >= 0, "debias", "at mu", *at.mu, ">= 0");
  if (at.rows) require_option(*at.rows >= 1, "debias", "at K", *at.rows, ">= 1");
}

}  // namespace

bool is_newton(const std::string& method) {
  return method == "step" || method == "remove" || method == "replace";
}

void validate(const DebiasOptions& o, bool has_train) {
  const bool known = o.method == "solve" || o.method == "path" ||
                     o.method == "average-column" || is_newton(o.method);
  require_option(known, "debias", "method", o.method,
                 "solve, path, step, remove, replace or average-column");
  require_option(o.optimizer == "auto" || o.optimizer == "lm" || o.optimizer == "adam",
                 "debias", "optimizer", o.optimizer, "auto, lm or adam");
  require_option(o.optimizer != "adam" || o.gaps.empty(), "debias", "optimizer",
                 o.optimizer, "lm when gap is given");
  require_option(o.max_accuracy_loss >= 0 && o.max_accuracy_loss <= 1, "debias",
                 "max_accuracy_loss", o.max_accuracy_loss, "from 0 to 1");
  require_option(o.holdout_share > 0 && o.holdout_share < 1, "debias", "holdout_share",
                 o.holdout_share, "between 0 and 1");
  // Options also come from receipts, which anybody may have written.
  require_option(o.points >= 2 && o.points <= 10000, "debias", "points", o.points,
                 "from 2 to 10000");
  require_option(o.audit.replicates >= 1 && o.audit.replicates <= 1000000, "debias",
                 "replicates", o.audit.replicates, "from 1 to 1000000");
  require_option(o.anchor > 0, "debias", "anchor", o.anchor, "> 0");
  require_option(o.fit >= 0, "debias", "fit", o.fit, ">= 0");
  require_option(o.hessian.empty() || o.hessian == "train" || o.hessian == "data", "debias",
                 "hessian", o.hessian, "train or data");
  validate_at(o.at);
  validate_newton(o, has_train);
  if (o.hessian == "train" && !has_train) require_train(o);
  if (o.target) {
    const auto& m = o.target->measure;
    const bool ok =
        m == "co" || m == "co_tv" || m == "flip_rate" || m == "equalized_odds_soft";
    require_option(
        ok, "debias", "target", m,
        "a limit on co, co_tv or flip_rate (on matched pairs: equalized_odds_soft)");
  }
  const bool plain = o.gaps.empty() && o.fit == 0;
  require_option(plain || o.method == "solve", "debias", "method", o.method,
                 "solve when fit or gap is given");
}

}  // namespace fmd::internal
