#include <cmath>

#include "data/json_reader.h"
#include "data/task_rules.h"
#include "fmd/core/error.h"
#include "fmd/data/task.h"

namespace fmd {

using nlohmann::json;

namespace {

json to_object(const AttributeSpec& spec) {
  json object = {{"name", spec.name},
                 {"columns", spec.columns},
                 {"pairs", spec.pairs},
                 {"values", spec.values},
                 {"reference", spec.reference}};
  if (spec.quantiles > 0) object["quantiles"] = spec.quantiles;
  if (!spec.cuts.empty()) object["cuts"] = spec.cuts;
  if (is_match(spec)) {
    object["match_columns"] = spec.match_columns;
    object["caliper"] = spec.caliper;
    object["reuse"] = spec.reuse;
  }
  return object;
}

AttributeSpec read_attribute_spec(const JsonReader& object) {
  AttributeSpec spec;
  spec.name = object.text("name");
  spec.columns = object.texts("columns");
  spec.pairs = object.text("pairs");
  spec.values = object.texts("values");
  spec.reference = object.text("reference");
  if (object.has("quantiles")) spec.quantiles = object.count("quantiles");
  if (object.has("cuts")) spec.cuts = object.numbers("cuts");
  if (object.has("match_columns")) spec.match_columns = object.texts("match_columns");
  if (object.has("caliper")) spec.caliper = object.text("caliper");
  if (object.has("reuse")) spec.reuse = object.count("reuse");
  return spec;
}

Limit read_limit(const JsonReader& object) {
  Limit limit;
  limit.measure = object.text("measure");
  limit.attribute = object.text("attribute");
  limit.value = object.number("value");
  if (limit.measure.empty()) object.fail("\"measure\" is empty");
  if (limit.value < 0) object.fail("\"value\" must be >= 0");
  return limit;
}

}  // namespace

std::string to_json(const Task& task) {
  json attributes = json::array();
  for (const AttributeSpec& spec : task.attributes) attributes.push_back(to_object(spec));
  json types = json::object();
  for (const auto& [name, kind] : task.types) types[name] = kind_text(kind);
  json limits = json::array();
  for (const Limit& limit : task.limits) {
    limits.push_back({{"measure", limit.measure},
                      {"attribute", limit.attribute},
                      {"value", limit.value}});
  }
  json object = {{"label", task.label},
                 {"classes", task.classes},
                 {"favorable", task.favorable},
                 {"threshold", task.threshold},
                 {"attributes", attributes},
                 {"weight", task.weight},
                 {"id", task.id},
                 {"ignore", task.ignore},
                 {"types", types},
                 {"unseen", task.unseen == Unseen::error ? "error" : "bucket"},
                 {"limits", limits},
                 {"min_group", task.min_group},
                 {"min_label", task.min_label}};
  if (task.rate) object["rate"] = *task.rate;
  return json_text(object);
}

Task task_from_json(const std::string& text, const std::string& source) {
  const json parsed = JsonReader::parse(text, source);
  const JsonReader object(parsed, source);
  Task task;
  task.label = object.text("label");
  task.classes = object.texts("classes");
  task.favorable = object.text("favorable");
  task.threshold = object.number("threshold");
  if (object.has("rate")) task.rate = object.number("rate");
  for (const JsonReader& element : object.objects("attributes"))
    task.attributes.push_back(read_attribute_spec(element));
  task.weight = object.text("weight");
  task.id = object.text("id");
  task.ignore = object.texts("ignore");
  task.types = object.kinds("types");
  const std::string unseen = object.text("unseen");
  if (unseen != "error" && unseen != "bucket")
    object.fail("\"unseen\" must be error or bucket");
  task.unseen = unseen == "error" ? Unseen::error : Unseen::bucket;
  for (const JsonReader& element : object.objects("limits"))
    task.limits.push_back(read_limit(element));
  task.min_group = object.count("min_group");
  task.min_label = object.count("min_label");
  const std::string wrong = contradiction(task);
  if (!wrong.empty()) object.fail(wrong);
  return task;
}

}  // namespace fmd
