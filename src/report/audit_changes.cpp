#include "report/audit_changes.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/limit_words.h"
#include "report/text.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kMostLines = 20;

std::string line(const FigureChange& c) {
  const AuditFigure& f = c.after;
  const std::string name = f.measure + (f.attribute.empty() ? "" : ":" + f.attribute) +
                           (f.about().empty() ? "" : " " + f.about());
  return fmt::format("  {:<35} {:>6} {:>6} {:>6} {:<15} {}\n", text::clip(name, 35),
                     text::gap(c.before.interval.value), text::gap(f.interval.value),
                     text::gap(c.change.value), text::range(c.change),
                     c.direction == Direction::worse ? "WORSE" : "better");
}

}  // namespace

std::string changes_part(const AuditReport& report) {
  if (!report.since_previous) return "";
  const AuditChanges& b = *report.since_previous;
  std::string out =
      "\nCHANGE " +
      text::wrap(fmt::format("since {} ({}); intervals hold together for {} figures",
                             b.previous.file, pairing_words(b), b.changes.size()),
                 7, 7) +
      "\n";
  std::vector<const FigureChange*> told;
  for (const FigureChange& c : b.changes)
    if (c.direction != Direction::unclear && is_shown(report, c.after)) told.push_back(&c);
  std::stable_sort(told.begin(), told.end(), [](const auto* x, const auto* y) {
    return x->direction == Direction::worse && y->direction != Direction::worse;
  });
  if (!told.empty())
    out += fmt::format("  {:<35} {:>6} {:>6} {:>6}\n", "", "before", "after", "change");
  for (std::size_t i = 0; i < std::min(told.size(), kMostLines); ++i) out += line(*told[i]);
  const std::size_t lines = std::min(told.size(), kMostLines);
  const auto more =
      static_cast<std::size_t>(b.count(Direction::worse) + b.count(Direction::better)) -
      lines;
  if (more > 0) out += fmt::format("  {} more: --json\n", more);
  out += fmt::format("  {} worse, {} better, {} unclear", b.count(Direction::worse),
                     b.count(Direction::better), b.count(Direction::unclear));
  if (!b.gone.empty() || !b.fresh.empty())
    out += fmt::format("; {} only before, {} only now", b.gone.size(), b.fresh.size());
  return out + "\n";
}

Json changes_json(const AuditChanges& b) {
  const auto none = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  Json json;
  json["file"] = b.previous.file;
  json["model"] = none(b.previous.model);
  json["model_sha256"] = none(b.previous.model_sha256);
  json["data_sha256"] = none(b.previous.data_sha256);
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
                {"direction", c.direction == Direction::worse    ? "worse"
                              : c.direction == Direction::better ? "better"
                                                                 : "not told apart"}};
    json["changes"].push_back(std::move(one));
  }
  json["only_before"] = b.gone;
  json["only_now"] = b.fresh;
  return json;
}

}  // namespace fmd::internal
