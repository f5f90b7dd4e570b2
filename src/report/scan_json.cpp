#include "fmd/report/scan_report.h"
#include "fmd/version.h"
#include "report/json.h"

namespace fmd {
namespace {

Json gap_json(const ScanGap& gap) {
  Json json = {{"rate", gap.rate},
               {"group", gap.group},
               {"reference", gap.reference},
               {"rows", gap.rows},
               {"reference_rows", gap.reference_rows},
               {"group_rate", number(gap.group_rate)},
               {"reference_rate", number(gap.reference_rate)},
               {"difference", interval_json(gap.difference)},
               {"p_value", number(gap.p_value)},
               {"adjusted_p_value", number(gap.adjusted)},
               {"finding", gap.finding}};
  return json;
}

Json flip_json(const ScanSuspect& suspect) {
  if (!suspect.flip) {
    const char* reason = suspect.reads == Reads::no        ? "not_an_input"
                         : suspect.reads == Reads::unknown ? "only scores were given"
                                                           : "ranges_of_a_number";
    return {{"value", nullptr}, {"reason", reason}};
  }
  const ScanFlip& flip = *suspect.flip;
  Json json = {{"kind", flip.kind}, {"rows", flip.rows}};
  json.update(interval_json(flip.change));
  if (flip.kind == "flip") json["flip_rate"] = number(flip.flip_rate);
  if (flip.kind == "slope") json["deviation"] = number(flip.deviation);
  return json;
}

Json suspect_json(const ScanSuspect& suspect, bool column) {
  Json json = {{"name", suspect.name}, {"columns", suspect.columns}};
  if (column) {
    if (!suspect.cuts.empty()) json["cuts"] = suspect.cuts;
    json["reads"] =
        suspect.reads == Reads::unknown ? Json(nullptr) : Json(suspect.reads == Reads::yes);
    json["flip"] = flip_json(suspect);
  } else {
    json["beyond_its_columns"] = number(suspect.beyond);
  }
  json["groups"] = suspect.groups;
  json["compared"] = suspect.compared;
  json["comparisons"] = suspect.tests;
  json["findings"] = suspect.findings;
  json["worst"] = Json::array();
  for (const ScanGap& gap : suspect.worst) json["worst"].push_back(gap_json(gap));
  return json;
}

}  // namespace

std::string to_json(const ScanReport& report) {
  Json json;
  json["schema"] = 1;
  json["command"] = "scan";
  json["version"] = kVersion;
  json["model"] = model_json(report.model, report.kind, report.model_sha256);
  json["data"] = data_json(report.data, report.data_sha256, report.rows);
  json["task"] = Json::parse(to_json(report.task));
  json["confidence"] = report.confidence;
  json["comparisons"] = report.tests;
  json["adjust"] = report.adjust == Adjust::holm ? "holm"
                   : report.adjust == Adjust::bh ? "bh"
                                                 : "none";
  json["test"] =
      report.adjust == Adjust::holm
          ? "Fisher's exact test, adjusted by Holm over all comparisons"
      : report.adjust == Adjust::bh
          ? "Fisher's exact test, adjusted by Benjamini-Hochberg over all comparisons"
          : "Fisher's exact test, not adjusted";
  if (!report.labelled) json["reason"] = "no labels: selection rates alone were compared";
  json["columns"] = Json::array();
  for (const ScanSuspect& s : report.columns)
    json["columns"].push_back(suspect_json(s, true));
  json["intersections"] = Json::array();
  for (const ScanSuspect& s : report.intersections)
    json["intersections"].push_back(suspect_json(s, false));
  json["left_out"] = Json::array();
  for (const auto& [column, reason] : report.left_out)
    json["left_out"].push_back({{"column", column}, {"reason", reason}});
  return json.dump(2) + "\n";
}

}  // namespace fmd
