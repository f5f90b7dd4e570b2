#include "fmd/repair/repair_options.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/names.h"
#include "repair/group_targets.h"

namespace fmd {
namespace {

constexpr Name<RepairMethod> kMethodNames[] = {
    {RepairMethod::solve, "solve"},     {RepairMethod::path, "path"},
    {RepairMethod::step, "step"},       {RepairMethod::remove, "remove"},
    {RepairMethod::replace, "replace"}, {RepairMethod::average_column, "average-column"}};

constexpr Name<NetworkOptimizer> kOptimizerNames[] = {{NetworkOptimizer::automatic, "auto"},
                                                      {NetworkOptimizer::lm, "lm"},
                                                      {NetworkOptimizer::adam, "adam"}};

constexpr Name<Polish> kPolishNames[] = {
    {Polish::automatic, "auto"}, {Polish::on, "on"}, {Polish::off, "off"}};

constexpr Name<HessianRows> kHessianNames[] = {{HessianRows::automatic, ""},
                                               {HessianRows::train, "train"},
                                               {HessianRows::data, "data"}};

constexpr Name<StepScale::Kind> kScaleNames[] = {
    {StepScale::Kind::chosen, "auto"},
    {StepScale::Kind::as_printed, "as-printed"},
    {StepScale::Kind::removal, "removal"}};

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

void require_train(const RepairOptions& o) {
  throw Error(
      ErrorKind::bad_option,
      o.hessian == HessianRows::train
          ? std::string("debias: hessian train needs the training rows")
          : fmt::format(
                "debias: method {} takes rows out of the training rows, and none are given",
                to_string(o.method)),
      "give them with --train FILE, or use --method step or solve");
}

void validate_newton(const RepairOptions& o, bool has_train) {
  const NewtonOptions& n = o.newton;
  const std::string method = to_string(o.method);
  require_option(n.rows >= 0, "debias", "rows", n.rows, ">= 1, or 0 to choose");
  require_option(n.refresh >= 1 && n.refresh <= 1000, "debias", "refresh", n.refresh,
                 "from 1 to 1000");
  if (!is_newton(o.method)) {
    require_option(n.scale.kind == StepScale::Kind::chosen && n.rows == 0 &&
                       n.refresh == 1 && !o.at.s && !o.at.rows,
                   "debias", "method", method,
                   "step, remove or replace when scale, rows, refresh or at s is given");
    return;
  }
  const bool rows = o.method != RepairMethod::step;
  require_option(!o.at.lambda, "debias", "at", to_string(o.at),
                 fmt::format("s=X{} for method {}", rows ? ",K=N" : "", method));
  require_option(rows || (n.rows == 0 && !o.at.rows), "debias", "method", method,
                 "remove or replace when a number of training rows is given");
  require_option(!rows || !o.at.any() || (o.at.s && (o.at.rows || n.rows > 0)), "debias",
                 "at", to_string(o.at), fmt::format("s=X,K=N for method {}", method));
  if (rows && !has_train) require_train(o);
}

void validate_at(const CandidateAt& at) {
  if (at.lambda) require_option(*at.lambda >= 0, "debias", "at lambda", *at.lambda, ">= 0");
  if (at.s) require_option(positive(*at.s), "debias", "at s", *at.s, "> 0");
  if (at.gamma) require_option(*at.gamma >= 0, "debias", "at gamma", *at.gamma, ">= 0");
  if (at.mu) require_option(*at.mu >= 0, "debias", "at mu", *at.mu, ">= 0");
  if (at.rows) require_option(*at.rows >= 1, "debias", "at K", *at.rows, ">= 1");
  if (at.polish)
    require_option(*at.polish >= 1 && *at.polish <= 1000 && at.lambda, "debias",
                   "at polish", *at.polish, "from 1 to 1000, with lambda");
}

}  // namespace

std::string to_string(RepairMethod method) {
  return name_of(kMethodNames, "method", method);
}

RepairMethod parse_method(const std::string& name) {
  return parse_name(kMethodNames, "debias", "method", name);
}

bool is_newton(RepairMethod method) {
  return method == RepairMethod::step || method == RepairMethod::remove ||
         method == RepairMethod::replace;
}

std::string to_string(NetworkOptimizer optimizer) {
  return name_of(kOptimizerNames, "optimizer", optimizer);
}

NetworkOptimizer parse_optimizer(const std::string& name) {
  return parse_name(kOptimizerNames, "debias", "optimizer", name);
}

std::string to_string(Polish polish) { return name_of(kPolishNames, "polish", polish); }

Polish parse_polish(const std::string& name) {
  return parse_name(kPolishNames, "debias", "polish", name);
}

std::string to_string(HessianRows rows) { return name_of(kHessianNames, "hessian", rows); }

HessianRows parse_hessian(const std::string& name) {
  return parse_name(kHessianNames, "debias", "hessian", name);
}

double StepScale::factor(double n) const {
  return kind == Kind::as_printed ? 1 : kind == Kind::removal ? 1 / n : value;
}

std::string to_string(const StepScale& scale) {
  if (scale.kind == StepScale::Kind::number) return scale.text;
  return name_of(kScaleNames, "scale", scale.kind);
}

StepScale parse_scale(const std::string& text) {
  if (const auto kind = find_name(kScaleNames, text)) return {.kind = *kind};
  const std::optional<double> value = as_number(text);
  require_option(value && positive(*value), "debias", "scale", text,
                 "auto, as-printed, removal or a number > 0");
  return {.kind = StepScale::Kind::number, .value = *value, .text = text};
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
    const bool whole = name == "K" || name == "polish";
    const bool known =
        whole || name == "lambda" || name == "s" || name == "gamma" || name == "mu";
    if (!known || !value || (whole && *value != std::floor(*value)))
      throw Error(ErrorKind::bad_option,
                  fmt::format("--at {}: \"{}\" names no candidate", text, part),
                  "write --at lambda=10, --at s=.001, --at s=.001,K=100 or --at "
                  "gamma=10,mu=1, as in OUT.path.json");
    if (name == "lambda") at.lambda = value;
    if (name == "s") at.s = value;
    if (name == "gamma") at.gamma = value;
    if (name == "mu") at.mu = value;
    if (name == "K") at.rows = static_cast<Index>(*value);
    if (name == "polish") at.polish = static_cast<Index>(*value);
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
  if (at.polish) add(fmt::format("polish={}", *at.polish));
  if (at.s) add(fmt::format("s={}", *at.s));
  if (at.rows) add(fmt::format("K={}", *at.rows));
  if (at.gamma) add(fmt::format("gamma={}", *at.gamma));
  if (at.mu) add(fmt::format("mu={}", *at.mu));
  return text;
}

void validate(const RepairOptions& o, bool has_train) {
  require_option(o.optimizer != NetworkOptimizer::adam || o.gaps.empty(), "debias",
                 "optimizer", to_string(o.optimizer), "lm when gap is given");
  require_option(o.max_accuracy_loss >= 0 && o.max_accuracy_loss <= 1, "debias",
                 "max_accuracy_loss", o.max_accuracy_loss, "from 0 to 1");
  require_option(o.only_if_over >= 0 && std::isfinite(o.only_if_over), "debias",
                 "only_if_over", o.only_if_over, ">= 0; 0 repairs in any case");
  require_option(o.risk > 0 && o.risk <= 0.5, "debias", "risk", o.risk,
                 "above 0 and at most .5");
  // Options also come from receipts, which anybody may have written.
  require_option(o.points >= 2 && o.points <= 10000, "debias", "points", o.points,
                 "from 2 to 10000");
  require_option(o.fit >= 0, "debias", "fit", o.fit, ">= 0");
  // Something must hold the answers in place, or a constant answer is the best one.
  require_option(o.anchor > 0 || (o.anchor == 0 && o.fit > 0), "debias", "anchor", o.anchor,
                 "> 0, or 0 with fit > 0");
  validate_at(o.at);
  validate_newton(o, has_train);
  if (o.hessian == HessianRows::train && !has_train) require_train(o);
  if (o.target) {
    const auto& m = o.target->measure;
    const bool ok = m == "co" || m == "co_mean" || m == "co_worst" || m == "co_tv" ||
                    m == "flip_rate" || m == "equalized_odds_soft" || is_group_gap(m);
    require_option(ok, "debias", "target", m,
                   "a limit on co, co_mean, co_worst, co_tv, flip_rate, "
                   "demographic_parity, equal_opportunity "
                   "or equalized_odds (on matched pairs: equalized_odds_soft)");
  }
  const bool plain = o.gaps.empty() && o.fit == 0;
  require_option(plain || o.method == RepairMethod::solve, "debias", "method",
                 to_string(o.method), "solve when fit or gap is given");
}

}  // namespace fmd
