#include "fmd/pipeline/debias_options.h"

#include <algorithm>

#include "core/check.h"
#include "data/json_reader.h"
#include "pipeline/debias_options.h"
#include "report/json.h"

namespace fmd {

std::string options_json(const DebiasOptions& o, std::uint64_t seed) {
  Json json;
  json["method"] = to_string(o.method);
  json["layers"] = o.layers;
  json["optimizer"] = to_string(o.optimizer);
  json["repair"] = o.repair;
  json["target"] = o.target ? Json(to_string(*o.target)) : Json(nullptr);
  json["max_accuracy_loss"] = o.max_accuracy_loss;
  json["at"] = o.at.any() ? Json(to_string(o.at)) : Json(nullptr);
  json["best_effort"] = o.best_effort;
  json["keep_rate"] = o.keep_rate;
  json["holdout_share"] = o.holdout_share;
  json["hessian"] = to_string(o.hessian);
  json["points"] = o.points;
  json["anchor"] = o.anchor;
  json["fit"] = o.fit;
  json["mu"] = o.mu;
  json["gaps"] = Json::array();
  for (const Limit& gap : o.gaps) json["gaps"].push_back(to_string(gap));
  json["scale"] = to_string(o.newton.scale);
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
  o.method = parse_method(in.text("method"));
  if (in.has("layers")) o.layers = in.count("layers");
  if (in.has("optimizer")) o.optimizer = parse_optimizer(in.text("optimizer"));
  o.repair = in.texts("repair");
  if (in.has("target")) o.target = parse_limit(in.text("target"));
  o.max_accuracy_loss = in.number("max_accuracy_loss");
  if (in.has("at")) o.at = parse_at(in.text("at"));
  o.best_effort = in.flag("best_effort");
  o.keep_rate = in.flag("keep_rate");
  o.holdout_share = in.number("holdout_share");
  o.hessian = parse_hessian(in.text("hessian"));
  o.points = in.count("points");
  o.anchor = in.number("anchor");
  o.fit = in.number("fit");
  o.mu = in.number("mu");
  for (const std::string& gap : in.texts("gaps")) o.gaps.push_back(parse_limit(gap));
  o.newton.scale = parse_scale(in.text("scale"));
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

void require_valid(const DebiasOptions& o, bool has_train) {
  require_option(o.holdout_share > 0 && o.holdout_share < 1, "debias", "holdout_share",
                 o.holdout_share, "between 0 and 1");
  // Options also come from receipts, which anybody may have written.
  require_option(o.audit.replicates >= 1 && o.audit.replicates <= 1000000, "debias",
                 "replicates", o.audit.replicates, "from 1 to 1000000");
  validate(o, has_train);
}

}  // namespace fmd::internal
