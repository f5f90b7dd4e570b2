#include "report/audit_changes.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/audit_words.h"
#include "report/line.h"
#include "report/text.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kMostLines = 20;

std::string direction_words(Direction direction) {
  return direction == Direction::worse    ? "worse"
         : direction == Direction::better ? "better"
                                          : "not told apart";
}

std::string counts(const AuditChanges& b) {
  return fmt::format("{} worse, {} better, {} unclear", b.count(Direction::worse),
                     b.count(Direction::better), b.count(Direction::unclear));
}

// The clear ones of the figures that a screen shows.
std::vector<const FigureChange*> clear_changes(const AuditReport& report) {
  std::vector<const FigureChange*> told;
  for (const FigureChange& c : report.since_previous->changes)
    if (c.direction != Direction::unclear && is_shown(report, c.after)) told.push_back(&c);
  return told;
}

}  // namespace

void add_changes(const AuditReport& report, Sheet& sheet) {
  static const SheetColumns columns =
      sheet_columns("  {:35.} {before:>6} {after:>6} {change:>6} {:15} {}");
  if (!report.since_previous) return;
  const AuditChanges& b = *report.since_previous;
  SheetSection& s = sheet.add(
      "CHANGE", fmt::format("since {} ({}); intervals hold together for {} figures",
                            b.previous.file, pairing_words(b), b.changes.size()));
  std::vector<const FigureChange*> told = clear_changes(report);
  std::stable_partition(told.begin(), told.end(), [](const FigureChange* c) {
    return c->direction == Direction::worse;
  });
  if (!told.empty()) s.table(columns);
  const std::size_t lines = std::min(told.size(), kMostLines);
  for (std::size_t i = 0; i < lines; ++i) {
    const FigureChange& c = *told[i];
    s.row(columns, {c.after.name(),
                    {text::gap(c.before.interval.value), c.before.interval},
                    {text::gap(c.after.interval.value), c.after.interval},
                    {text::gap(c.change.value), c.change},
                    text::range(c.change),
                    c.direction == Direction::worse ? "WORSE" : "better"});
  }
  const Index more =
      std::ssize(b.changes) - b.count(Direction::unclear) - static_cast<Index>(lines);
  if (more > 0) line(s, "  ", "{} more: --json", more);
  s.line("  ", counts(b) + (b.gone.empty() && b.fresh.empty()
                                ? ""
                                : fmt::format("; {} only before, {} only now",
                                              b.gone.size(), b.fresh.size())));
}

void add_changes_to_page(const AuditReport& report, SheetSection& s) {
  static const SheetColumns columns =
      sheet_columns("{measure} {about} {before} {after} {change of its size} {}");
  if (!report.since_previous) return;
  const AuditChanges& b = *report.since_previous;
  line(s, "", "Since {} ({}): {}.", b.previous.file, pairing_words(b), counts(b));
  for (const FigureChange* c : clear_changes(report))
    s.row(columns, {measure_words(c->after), c->after.about(),
                    text::gap(c->before.interval.value), text::gap(c->after.interval.value),
                    measured(c->change), direction_words(c->direction)});
}

Json changes_json(const AuditChanges& b) {
  Json json;
  json["file"] = b.previous.file;
  json["model"] = text_or_null(b.previous.model);
  json["model_sha256"] = text_or_null(b.previous.model_sha256);
  json["data_sha256"] = text_or_null(b.previous.data_sha256);
  json["same_data"] = b.same_data;
  json["paired"] = b.paired;
  json["figures"] = b.changes.size();
  json["worse"] = b.count(Direction::worse);
  json["better"] = b.count(Direction::better);
  json["changes"] = Json::array();
  for (const FigureChange& c : b.changes) {
    Json one = {{"attribute", c.after.attribute},
                {"measure", c.after.measure},
                {"about", c.after.about()},
                {"before", interval_json(c.before.interval)},
                {"after", interval_json(c.after.interval)},
                {"change", interval_json(c.change)},
                {"paired", c.paired},
                {"direction", direction_words(c.direction)}};
    json["changes"].push_back(std::move(one));
  }
  json["only_before"] = b.gone;
  json["only_now"] = b.fresh;
  return json;
}

}  // namespace fmd::internal
