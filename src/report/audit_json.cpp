#include "report/audit_json.h"

#include <fmt/format.h>

#include "fmd/report/audit_report.h"
#include "fmd/version.h"
#include "report/audit_changes.h"
#include "report/audit_words.h"
#include "report/ledger_count.h"
#include "report/match_report.h"

namespace fmd::internal {
namespace {

std::string name_of(const std::vector<std::string>& values, int at) {
  return at < 0 ? "" : values[static_cast<std::size_t>(at)];
}

Json count_json(Index rows, bool masked) { return masked ? Json(few_rows()) : Json(rows); }

Json group_json(const Group& group, bool everything) {
  const bool no_labels = group.masked || group.labels_masked;
  Json json = {{"value", group.value},
               {"rows", count_json(group.rows, group.masked)},
               {"positives", no_labels ? Json(nullptr) : Json(group.positives)},
               {"negatives", no_labels ? Json(nullptr) : Json(group.negatives)},
               {"selection_rate", number(group.selection_rate.value)},
               {"tpr", number(group.tpr.value)},
               {"fpr", number(group.fpr.value)},
               {"accuracy", number(group.accuracy.value)},
               {"mean_score", number(group.mean_score)},
               {"compared", group.compared}};
  if (group.masked || group.labels_masked)
    json["reason"] = group.masked ? "fewer than 10 rows" : "fewer than 10 rows of a label";
  if (!group.masked && group.effective_rows != static_cast<double>(group.rows))
    json["effective_rows"] = number(group.effective_rows);
  Json intervals;
  intervals["selection_rate"] = interval_json(group.selection_rate);
  intervals["tpr"] = interval_json(group.tpr);
  intervals["fpr"] = interval_json(group.fpr);
  intervals["accuracy"] = interval_json(group.accuracy);
  json["intervals"] = intervals;
  if (!everything || group.rates.empty()) return json;
  json["rates"] = Json::object();
  for (const Figure& rate : group.rates)
    json["rates"][rate.name] = interval_json(rate.value, rate.reason);
  return json;
}

Json comparison_json(const GroupReport& report, const Comparison& comparison) {
  Json json = {{"first", report.groups[static_cast<std::size_t>(comparison.first)].value},
               {"second", report.groups[static_cast<std::size_t>(comparison.second)].value},
               {"rate", comparison.rate}};
  json.update(interval_json(comparison.difference));
  if (!std::isnan(comparison.p_value)) {
    json["p_value"] = comparison.p_value;
    json["adjusted_p_value"] = comparison.adjusted;
  }
  return json;
}

Json measure_json(const GroupReport& report, const GroupMeasure& measure) {
  Json json = interval_json(measure.value, measure.reason);
  if (!measure.reason.empty()) return json;
  if (!measure.about.empty()) json["about"] = measure.about;
  if (!std::isnan(measure.p_value)) json["adjusted_p_value"] = measure.p_value;
  if (!measure.comparisons.empty()) json["comparisons"] = Json::array();
  for (const Comparison& comparison : measure.comparisons)
    json["comparisons"].push_back(comparison_json(report, comparison));
  if (!measure.widest.difference.defined()) return json;
  json["widest"] = comparison_json(report, measure.widest);
  json["widest"]["pairs"] = measure.pairs;
  return json;
}

Json groups_json(const GroupReport& report, bool everything) {
  Json groups = Json::array();
  for (const Group& group : report.groups) groups.push_back(group_json(group, everything));
  return groups;
}

Json group_measures(const GroupReport& report, bool everything) {
  Json measures;
  for (const GroupMeasure& measure : report.measures)
    if (everything || !measure.by_name)
      measures[measure.name] = measure_json(report, measure);
  measures["selection_ratio"] = interval_json(report.selection_ratio);
  Json worst = interval_json(report.worst_group_accuracy);
  if (report.worst_group >= 0)
    worst["group"] = report.groups[static_cast<std::size_t>(report.worst_group)].value;
  measures["worst_group_accuracy"] = worst;
  return measures;
}

void flip_measures(const AttributeAudit& audit, const FlipReport& flip, Json& measures) {
  measures["co"] = interval_json(flip.co, "no labels");
  measures["co_tv"] = interval_json(flip.co_tv);
  measures["flip_rate"] = interval_json(flip.flip_rate);
  measures["co_large"] = interval_json(flip.co_large);
  measures["co_large"]["values"] = flip.large_values;
  measures["co_worst"] = {{"value", nullptr},
                          {"reason", "no pair of values with enough rows"}};
  if (flip.worst < 0) return;
  const FlipCell& cell = flip.cells[static_cast<std::size_t>(flip.worst)];
  measures["co_worst"] = interval_json(flip.co_worst);
  measures["co_worst"]["from"] = name_of(audit.values, cell.from);
  measures["co_worst"]["to"] = name_of(audit.values, cell.to);
}

Json cells_json(const AttributeAudit& audit) {
  Json cells = Json::array();
  for (const FlipCell& cell : audit.flip->cells)
    cells.push_back(
        {{"from", name_of(audit.values, cell.from)},
         {"to", name_of(audit.values, cell.to)},
         {"rows", count_json(cell.rows, cell.masked)},
         {"co", interval_json(cell.co, cell.masked ? "fewer than 10 rows" : "undefined")},
         {"signed_change", number(cell.signed_change)},
         {"flip_rate", number(cell.flip_rate)}});
  return cells;
}

void flip_json(const AttributeAudit& audit, Index rows, Json& json, Json& measures) {
  for (const char* name : {"co", "co_tv", "co_worst", "co_large", "flip_rate"})
    measures[name] = {{"value", nullptr}, {"reason", audit.flip_reason}};
  if (!audit.flip) return;
  const FlipReport& flip = *audit.flip;
  flip_measures(audit, flip, measures);
  Json by_label = Json::array(), largest;
  for (const FlipFigure& figure : flip.figures) {
    const Json one = interval_json(figure.value, figure.reason);
    if (figure.label >= 0) {
      by_label.push_back({{"label", figure.about}, {"co", one}});
    } else if (figure.name != "largest_gap") {  // which has no interval
      measures[figure.name] = one;
    } else {
      largest = number(figure.value.value);
    }
  }
  json["flips"] = {{"rows", flip.units},
                   {"pairs", flip.pairs},
                   {"share_below_1e-6", number(flip.share_still)},
                   {"largest_gap", largest},
                   {"by_label", by_label},
                   {"cells", cells_json(audit)}};
  if (const Index left = rows_left_out(audit, rows); audit.few_left_out || left > 0)
    json["flips"]["rows_left_out"] = count_json(left, audit.few_left_out);
  if (!audit.distortion) return;
  const Distortion& d = *audit.distortion;
  json["distortion"] = {{"euclidean", interval_json(d.euclidean)},
                        {"manhattan", interval_json(d.manhattan)},
                        {"mahalanobis", interval_json(d.mahalanobis, d.reason)}};
}

Json slope_json(const AttributeAudit& audit) {
  if (!audit.slope) return {{"value", nullptr}, {"reason", audit.slope_reason}};
  const SlopeReport& slope = *audit.slope;
  return {{"rows", slope.rows},
          {"per_unit", interval_json(slope.per_unit)},
          {"per_deviation", interval_json(slope.per_deviation)},
          {"deviation", number(slope.deviation)},
          {"signed_per_unit", number(slope.signed_per_unit)}};
}

Json attribute_json(const AttributeAudit& audit, Index rows, bool everything, bool masked) {
  Json json;
  json["name"] = audit.name;
  json["reads"] =
      audit.reads == Reads::unknown ? Json(nullptr) : Json(audit.reads == Reads::yes);
  if (audit.reads == Reads::unknown) json["reads_reason"] = "only scores were given";
  json["pairs"] = to_string(audit.pairs);
  json["reference"] =
      audit.groups.reference < 0
          ? Json(nullptr)
          : Json(audit.groups.groups[static_cast<std::size_t>(audit.groups.reference)]
                     .value);
  json["reference_named"] = audit.groups.named;
  if (!audit.mirrors.empty()) json["mirrors"] = audit.mirrors;
  if (!audit.mirrors_left.empty()) json["mirrors_left"] = audit.mirrors_left;
  if (!audit.cuts.empty()) {
    json["cuts"] = audit.cuts;
    json["slope"] = slope_json(audit);
  }
  json["groups"] = groups_json(audit.groups, everything);
  const Index without = audit.groups.rows_without_group;
  json["rows_without_group"] =
      count_json(without, masked && without > 0 && without < kMaskedRows);
  Json measures;
  flip_json(audit, rows, json, measures);
  match_json(audit, json, measures);
  measures.update(group_measures(audit.groups, everything));
  json["measures"] = measures;
  return json;
}

std::string verdict_key(Verdict verdict) {
  return verdict == Verdict::unclear ? "not_enough_evidence" : to_string(verdict);
}

Json limits_json(const std::vector<LimitResult>& limits) {
  Json all = Json::array();
  for (const LimitResult& result : limits) {
    Json one = {{"measure", result.limit.measure},
                {"attribute", result.limit.attribute},
                {"limit", result.limit.value},
                {"verdict", verdict_key(result.verdict)}};
    if (result.asked != result.limit.measure) one["asked"] = result.asked;
    if (!result.reason.empty()) one["reason"] = result.reason;
    one["lines"] = Json::array();
    for (const LimitLine& line : result.lines) {
      Json l = {{"about", line.about}, {"verdict", verdict_key(line.verdict)}};
      l.update(interval_json(line.interval));
      one["lines"].push_back(l);
    }
    all.push_back(one);
  }
  return all;
}

Json refits_json(const RefitReport& report) {
  Json json = {{"count", report.refits}, {"figures", Json::array()}};
  for (const RefitFigure& figure : report.figures) {
    Json one = {{"attribute", figure.attribute}, {"measure", figure.measure}};
    one.update(interval_json(figure.value));
    json["figures"].push_back(one);
  }
  return json;
}

// Of a report that is masked already.
Json figures_of(const AuditReport& report, bool everything) {
  Json json;
  json["rows"] = report.rows;
  json["accuracy"] = interval_json(report.accuracy, "no labels");
  json["log_loss"] = number(report.log_loss);
  json["calibration_error"] = number(report.calibration_error);
  if (report.neighbours) {
    json["consistency"] = interval_json(report.neighbours->consistency);
    json["consistency"]["neighbours"] = report.neighbours->k;
  }
  json["attributes"] = Json::array();
  for (const AttributeAudit& audit : report.attributes)
    json["attributes"].push_back(
        attribute_json(audit, report.rows, everything, !report.include_rows));
  return json;
}

}  // namespace

Json figures_json(const AuditReport& report, bool everything) {
  return figures_of(masked(report), everything);
}

}  // namespace fmd::internal

namespace fmd {

std::string to_json(const AuditReport& full) {
  const AuditReport report = masked(full);
  Json json;
  json["schema"] = 1;
  json["command"] = "audit";
  json["version"] = kVersion;
  json["model"] = model_json(report.model, report.kind, report.model_sha256);
  json["data"] = data_json(report.data, report.data_sha256, report.rows);
  json["data"]["seen_in_training"] = report.seen < 0 ? Json(nullptr) : Json(report.seen);
  json["data"]["seen_by_chance"] = number(report.seen_by_chance);
  json["data"]["missing_numbers"] = report.missing_numbers;
  if (!report.notes.empty()) json["notes"] = report.notes;
  if (report.ledger) json["ledger"] = ledger_json(*report.ledger);
  json["task"] = Json::parse(to_json(report.task));
  json["confidence"] = report.confidence;
  json["replicates"] = report.replicates;
  json["intervals"] =
      report.intervals == Bootstrap::bca ? "bca" : "percentile";  // of what is resampled
  json["permutations"] = report.permutations;  // of the p-values of group gaps
  json["seed"] = report.seed;
  if (report.include_rows) json["include_rows"] = true;
  if (report.round > 0) json["round"] = report.round;
  if (report.weighted) json["weight"] = report.task.weight;
  json.update(figures_of(report, true));
  if (!report.accuracy.defined())
    json["reason"] = "no labels: accuracy and label metrics are null";
  json["intersections"] = Json::array();
  for (const GroupReport& groups : report.intersections) {
    json["intersections"].push_back({{"name", groups.attribute},
                                     {"groups", groups_json(groups, true)},
                                     {"measures", group_measures(groups, true)}});
  }
  if (report.since_previous) json["baseline"] = changes_json(*report.since_previous);
  if (report.refits) json["refits"] = refits_json(*report.refits);
  json["limits"] = limits_json(report.limits);
  json["warnings"] = Json::array();
  for (const AuditWarning& warning : report.warnings)
    json["warnings"].push_back(
        {{"name", warning.name}, {"text", warning.text}, {"allowed", warning.allowed}});
  json["verdict"] = verdict_key(report.verdict);
  return json_lines(json);
}

}  // namespace fmd
