#include <fmt/format.h>

#include "fmd/report/audit_formats.h"
#include "report/limit_words.h"
#include "report/mask_text.h"
#include "report/text.h"

namespace fmd {
namespace {

using text::bare;
using text::count;
using text::gap;
using text::percent;
using text::percent_range;
using text::range;

// A cell of a table: no sign of it may end the cell or begin markup.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<' || c == '[')
      out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

std::string measured(const Interval& i) {
  return i.defined() ? fmt::format("{} {}", gap(i.value), range(i)) : "-";
}

std::string verdict_part(const AuditReport& r) {
  if (r.limits.empty()) return "No limit was set: nothing was judged.\n\n";
  std::string out = fmt::format(
      "**{}**\n\n| limit | about | figure | verdict |\n"
      "|---|---|---|---|\n",
      verdict_words(r));
  for (const LimitResult& limit : r.limits) {
    const std::string name = cell(limit_words(limit));
    if (limit.lines.empty())
      out += fmt::format("| {} | | {} | {} |\n", name, cell(reason_words(limit.reason)),
                         to_string(limit.verdict));
    for (const LimitLine& line : limit.lines)
      out += fmt::format("| {} | {} | {} | {} |\n", name, cell(line.about),
                         measured(line.interval), to_string(line.verdict));
  }
  return out + "\n";
}

std::string flip_part(const AuditReport& r) {
  std::string out = "| flip test | flip gap | answers that change |\n|---|---|---|\n";
  for (const AttributeAudit& a : r.attributes) {
    if (!a.flip) {
      out +=
          fmt::format("| {} | {} | |\n", cell(a.name), cell(no_flip_words(a.flip_reason)));
      continue;
    }
    const Interval& co = a.flip->co.defined() ? a.flip->co : a.flip->co_tv;
    out += fmt::format("| {} | {} | {} % {} |\n", cell(a.name), measured(co),
                       percent(a.flip->flip_rate.value), percent_range(a.flip->flip_rate));
  }
  return out + "\n";
}

const Interval* difference(const GroupReport& g, const char* measure, std::size_t group) {
  const GroupMeasure* m = g.find(measure);
  if (m == nullptr) return nullptr;
  for (const Comparison& c : m->comparisons)
    if (c.second == static_cast<int>(group)) return &c.difference;
  return nullptr;
}

std::string group_part(const AuditReport& r, const GroupReport& g) {
  std::string out = fmt::format(
      "| {} | rows | {} % | difference | TPR % | difference | FPR % | accuracy % |\n"
      "|---|---|---|---|---|---|---|---|\n",
      cell(g.attribute), text::favourable_word(r.task));
  for (std::size_t k = 0; k < g.groups.size(); ++k) {
    const Group& group = g.groups[k];
    const auto gap_of = [&](const char* measure) {
      const Interval* i = difference(g, measure, k);
      return i != nullptr                         ? measured(*i)
             : static_cast<int>(k) == g.reference ? std::string("reference")
             : group.compared                     ? std::string("-")
                                                  : std::string("too few rows");
    };
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", cell(group.value),
                       cell(count(group.rows, group.masked)),
                       percent(group.selection_rate.value), gap_of("demographic_parity"),
                       percent(group.tpr.value), gap_of("equal_opportunity"),
                       percent(group.fpr.value), percent(group.accuracy.value));
  }
  if (const std::string words = text::mask_words(g); !words.empty())
    out += "\nNote: " + words + ".\n";
  return out + "\n";
}

std::string baseline_part(const AuditReport& r) {
  if (!r.baseline) return "";
  const BaselineReport& b = *r.baseline;
  std::string out =
      fmt::format("Since {} ({}): {} worse, {} better, {} not told apart.\n\n",
                  cell(b.earlier.file), pairing_words(b), b.count(Direction::worse),
                  b.count(Direction::better), b.count(Direction::unclear));
  if (b.count(Direction::unclear) == static_cast<Index>(b.changes.size())) return out;
  out +=
      "| measure | about | before | after | change of its size | "
      "|\n|---|---|---|---|---|---|\n";
  for (const FigureChange& c : b.changes) {
    if (c.direction == Direction::unclear || !is_shown(r, c.after)) continue;
    const std::string& attribute = c.after.attribute;
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n",
                       cell(c.after.measure + (attribute.empty() ? "" : ":" + attribute)),
                       cell(c.after.about()), gap(c.before.interval.value),
                       gap(c.after.interval.value), measured(c.change),
                       c.direction == Direction::worse ? "worse" : "better");
  }
  return out + "\n";
}

}  // namespace

std::string markdown(const AuditReport& full) {
  const AuditReport report = masked(full);
  std::string out = fmt::format(
      "## Audit of {}\n\n{} rows of {}; intervals of {:g} %, adjusted where several groups "
      "are compared.\n\n",
      cell(report.model.empty() ? "scores" : report.model), count(report.rows),
      cell(report.data), 100 * report.confidence);
  out += verdict_part(report) + baseline_part(report);
  if (report.accuracy.defined())
    out += fmt::format("Accuracy {} % {}, log loss {}, calibration error {}.\n\n",
                       percent(report.accuracy.value), percent_range(report.accuracy),
                       text::fixed(report.log_loss, 3),
                       text::fixed(report.calibration_error, 3));
  out += flip_part(report);
  for (const AttributeAudit& a : report.attributes) out += group_part(report, a.groups);
  for (const GroupReport& g : report.intersections) {
    const GroupMeasure* m = g.find("demographic_parity");
    if (m == nullptr || !m->widest.difference.defined()) continue;
    const auto name = [&](int k) { return g.groups[static_cast<std::size_t>(k)].value; };
    out += fmt::format("{}: widest difference {} ({} - {}), of {} pairs.\n\n",
                       cell(g.attribute), measured(m->widest.difference),
                       cell(name(m->widest.first)), cell(name(m->widest.second)), m->pairs);
  }
  return out + "A difference says nothing of its cause.\n";
}

}  // namespace fmd
