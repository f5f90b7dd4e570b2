#include "fmd/report/audit_formats.h"

#include <cmath>

#include <fmt/format.h>

#include "fmd/data/csv.h"
#include "report/limit_words.h"
#include "report/mask_text.h"
#include "report/text.h"

namespace fmd {
namespace {

std::string csv_number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }

class CsvLines {
 public:
  std::string text = "attribute,group,measure,value,low,high,rows,reason\n";

  void add(const std::string& attribute, const std::string& group,
           const std::string& measure, const Interval& interval, Index rows,
           const std::string& reason = "undefined", bool masked = false) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", csv_cell(attribute), csv_cell(group),
                        csv_cell(measure), csv_number(interval.value),
                        csv_number(interval.low), csv_number(interval.high),
                        masked     ? fmd::text::few_rows()
                        : rows < 0 ? ""
                                   : std::to_string(rows),
                        interval.defined() ? "" : csv_cell(reason));
  }
};

void add_group_lines(const GroupReport& report, CsvLines& lines) {
  const std::string& name = report.attribute;
  for (const Group& g : report.groups) {
    if (g.masked) {
      lines.add(name, g.value, "selection_rate", {}, 0, "fewer than 10 rows", true);
      continue;
    }
    const char* why = g.labels_masked ? "fewer than 10 rows of a label" : "undefined";
    lines.add(name, g.value, "selection_rate", g.selection_rate, g.rows);
    lines.add(name, g.value, "tpr", g.tpr, g.labels_masked ? -1 : g.positives, why);
    lines.add(name, g.value, "fpr", g.fpr, g.labels_masked ? -1 : g.negatives, why);
    lines.add(name, g.value, "accuracy", g.accuracy, g.rows);
    lines.add(name, g.value, "mean_score", {g.mean_score, kUndefined, kUndefined}, g.rows);
    for (const Figure& rate : g.rates)
      if (rate.name != "selection_rate" && rate.name != "tpr" && rate.name != "fpr" &&
          rate.name != "accuracy" && rate.name != "mean_score")
        lines.add(name, g.value, rate.name, rate.value, g.rows, rate.reason);
  }
  const auto value = [&](int g) {
    return report.groups[static_cast<std::size_t>(g)].value;
  };
  for (const GroupMeasure& m : report.measures) {
    if (!m.reason.empty()) {
      lines.add(name, "", m.name, {}, -1, m.reason);
      continue;
    }
    lines.add(name, "", m.name, m.value, -1);
    for (const Comparison& c : m.comparisons) {
      std::string about = value(c.first) + " - " + value(c.second);
      if (m.name == "equalized_odds") about += ", " + c.rate;
      lines.add(name, about, m.name, c.difference,
                report.groups[static_cast<std::size_t>(c.second)].rows);
    }
  }
  lines.add(name, "", "selection_ratio", report.selection_ratio, -1);
  lines.add(name, report.worst_group < 0 ? "" : value(report.worst_group),
            "worst_group_accuracy", report.worst_group_accuracy, -1);
}

void add_flip_lines(const AttributeAudit& a, CsvLines& lines) {
  if (!a.flip) {
    for (const char* measure : {"co", "co_tv", "co_large", "flip_rate"})
      lines.add(a.name, "", measure, {}, -1, a.flip_reason);
    return;
  }
  lines.add(a.name, "", "co", a.flip->co, a.flip->units, "no labels");
  lines.add(a.name, "", "co_tv", a.flip->co_tv, a.flip->units);
  lines.add(a.name, "", "co_large", a.flip->co_large, a.flip->units);
  lines.add(a.name, "", "flip_rate", a.flip->flip_rate, a.flip->units);
  for (const FlipFigure& figure : a.flip->figures)
    lines.add(a.name, figure.about, figure.name, figure.value, a.flip->units,
              figure.reason);
  for (const FlipCell& cell : a.flip->cells)
    lines.add(a.name,
              a.values[static_cast<std::size_t>(cell.from)] + " -> " +
                  a.values[static_cast<std::size_t>(cell.to)],
              "co", cell.co, cell.rows, cell.masked ? "fewer than 10 rows" : "undefined",
              cell.masked);
}

}  // namespace

std::string csv(const AuditReport& full) {
  const AuditReport report = masked(full);
  CsvLines lines;
  const auto whole = [&](const char* measure, double value) {
    lines.add("", "", measure, {value, kUndefined, kUndefined}, report.rows, "no labels");
  };
  lines.add("", "", "accuracy", report.accuracy, report.rows, "no labels");
  whole("log_loss", report.log_loss);
  whole("calibration_error", report.calibration_error);
  for (const AttributeAudit& a : report.attributes) {
    add_flip_lines(a, lines);
    if (!a.cuts.empty()) {
      const SlopeReport none, &slope = a.slope ? *a.slope : none;
      lines.add(a.name, "", "slope_per_unit", slope.per_unit, slope.rows, a.slope_reason);
      lines.add(a.name, "", "slope_per_deviation", slope.per_deviation, slope.rows,
                a.slope_reason);
    }
    add_group_lines(a.groups, lines);
  }
  for (const GroupReport& cells : report.intersections) add_group_lines(cells, lines);
  return lines.text;
}

namespace {

using text::bare;
using text::count;
using text::gap;
using text::percent;
using text::percent_range;
using text::range;

// The text of a table's cell. None of its characters may end the cell or begin markup.
std::string markdown_cell(const std::string& text) {
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

std::string markdown_verdict(const AuditReport& r) {
  if (r.limits.empty()) return "No limit was set: nothing was judged.\n\n";
  std::string out =
      fmt::format("**{}**\n\n| limit | about | figure | verdict |\n|---|---|---|---|\n",
                  verdict_words(r));
  for (const LimitResult& limit : r.limits) {
    const std::string name = markdown_cell(limit_words(limit));
    if (limit.lines.empty())
      out +=
          fmt::format("| {} | | {} | {} |\n", name,
                      markdown_cell(reason_words(limit.reason)), to_string(limit.verdict));
    for (const LimitLine& line : limit.lines)
      out += fmt::format("| {} | {} | {} | {} |\n", name, markdown_cell(line.about),
                         measured(line.interval), to_string(line.verdict));
  }
  return out + "\n";
}

std::string markdown_flips(const AuditReport& r) {
  std::string out = "| flip test | flip gap | answers that change |\n|---|---|---|\n";
  for (const AttributeAudit& a : r.attributes) {
    if (!a.flip) {
      out += fmt::format("| {} | {} | |\n", markdown_cell(a.name),
                         markdown_cell(no_flip_words(a.flip_reason)));
      continue;
    }
    const Interval& co = a.flip->co.defined() ? a.flip->co : a.flip->co_tv;
    out += fmt::format("| {} | {} | {} % {} |\n", markdown_cell(a.name), measured(co),
                       percent(a.flip->flip_rate.value), percent_range(a.flip->flip_rate));
  }
  return out + "\n";
}

const Interval* difference_of(const GroupReport& g, const char* measure,
                              std::size_t group) {
  const GroupMeasure* m = g.find(measure);
  if (m == nullptr) return nullptr;
  for (const Comparison& c : m->comparisons)
    if (c.second == static_cast<int>(group)) return &c.difference;
  return nullptr;
}

std::string markdown_groups(const AuditReport& r, const GroupReport& g) {
  std::string out = fmt::format(
      "| {} | rows | {} % | difference | TPR % | difference | FPR % | accuracy % "
      "|\n|---|---|---|---|---|---|---|---|\n",
      markdown_cell(g.attribute), text::favourable_word(r.task));
  for (std::size_t k = 0; k < g.groups.size(); ++k) {
    const Group& group = g.groups[k];
    const auto gap_of = [&](const char* measure) {
      const Interval* i = difference_of(g, measure, k);
      return i != nullptr                         ? measured(*i)
             : static_cast<int>(k) == g.reference ? std::string("reference")
             : group.compared                     ? std::string("-")
                                                  : std::string("too few rows");
    };
    out += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n", markdown_cell(group.value),
        markdown_cell(count(group.rows, group.masked)), percent(group.selection_rate.value),
        gap_of("demographic_parity"), percent(group.tpr.value), gap_of("equal_opportunity"),
        percent(group.fpr.value), percent(group.accuracy.value));
  }
  if (const std::string words = text::mask_words(g); !words.empty())
    out += "\nNote: " + words + ".\n";
  return out + "\n";
}

std::string markdown_changes(const AuditReport& r) {
  if (!r.since_previous) return "";
  const AuditChanges& b = *r.since_previous;
  std::string out = fmt::format("Since {} ({}): {} worse, {} better, {} unclear.\n\n",
                                markdown_cell(b.previous.file), pairing_words(b),
                                b.count(Direction::worse), b.count(Direction::better),
                                b.count(Direction::unclear));
  if (b.count(Direction::unclear) == static_cast<Index>(b.changes.size())) return out;
  out +=
      "| measure | about | before | after | change of its size | "
      "|\n|---|---|---|---|---|---|\n";
  for (const FigureChange& c : b.changes) {
    if (c.direction == Direction::unclear || !is_shown(r, c.after)) continue;
    const std::string& attribute = c.after.attribute;
    out += fmt::format(
        "| {} | {} | {} | {} | {} | {} |\n",
        markdown_cell(c.after.measure + (attribute.empty() ? "" : ":" + attribute)),
        markdown_cell(c.after.about()), gap(c.before.interval.value),
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
      markdown_cell(report.model.empty() ? "scores" : report.model), count(report.rows),
      markdown_cell(report.data), 100 * report.confidence);
  out += markdown_verdict(report) + markdown_changes(report);
  if (report.accuracy.defined())
    out += fmt::format("Accuracy {} % {}, log loss {}, calibration error {}.\n\n",
                       percent(report.accuracy.value), percent_range(report.accuracy),
                       text::fixed(report.log_loss, 3),
                       text::fixed(report.calibration_error, 3));
  out += markdown_flips(report);
  for (const AttributeAudit& a : report.attributes)
    out += markdown_groups(report, a.groups);
  for (const GroupReport& g : report.intersections) {
    const GroupMeasure* m = g.find("demographic_parity");
    if (m == nullptr || !m->widest.difference.defined()) continue;
    const auto name = [&](int k) { return g.groups[static_cast<std::size_t>(k)].value; };
    out += fmt::format("{}: widest difference {} ({} - {}), of {} pairs.\n\n",
                       markdown_cell(g.attribute), measured(m->widest.difference),
                       markdown_cell(name(m->widest.first)),
                       markdown_cell(name(m->widest.second)), m->pairs);
  }
  return out + "A difference says nothing about its cause.\n";
}

namespace {

// XML 1.0 has no way to write most control characters: they become blanks.
std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string line_words(const LimitLine& line) {
  return fmt::format("{}{} {}: {}", line.about.empty() ? "" : line.about + " ",
                     text::gap(line.interval.value), text::range(line.interval),
                     to_string(line.verdict));
}

// The lines that decided, or why there is none.
std::string failure_words(const LimitResult& limit) {
  std::string out;
  for (const LimitLine& line : limit.lines)
    if (line.verdict == limit.verdict) out += (out.empty() ? "" : "; ") + line_words(line);
  return out.empty() ? reason_words(limit.reason) : out;
}

std::string test_case(const AuditReport& report, const std::string& name, Verdict verdict,
                      const std::string& message, const std::string& body) {
  const std::string head =
      fmt::format("    <testcase classname=\"fmd.audit.{}\" name=\"{}\"",
                  xml_text(report.data), xml_text(name));
  if (verdict == Verdict::fail)
    return fmt::format("{}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                       head, xml_text(message), xml_text(body));
  if (verdict == Verdict::unclear)
    return fmt::format(
        "{}>\n      <skipped message=\"not enough evidence: {}\"/>\n    </testcase>\n",
        head, xml_text(message));
  return head + "/>\n";
}

}  // namespace

std::string junit(const AuditReport& report) {
  std::string cases;
  Index tests = 0, failed = 0, skipped = 0;
  const auto add = [&](const std::string& name, Verdict verdict, const std::string& message,
                       const std::string& body) {
    ++tests;
    failed += verdict == Verdict::fail;
    skipped += verdict == Verdict::unclear;
    cases += test_case(report, name, verdict, message, body);
  };
  for (const LimitResult& limit : report.limits) {
    std::string body;
    for (const LimitLine& line : limit.lines) body += line_words(line) + "; ";
    add(limit_words(limit), limit.verdict, failure_words(limit), body);
  }
  if (report.since_previous) {
    const AuditChanges& since = *report.since_previous;
    std::string worse;
    for (const FigureChange& c : since.changes)
      if (c.direction == Direction::worse)
        worse += fmt::format("{}{}:{} {} {} -> {}", worse.empty() ? "" : "; ",
                             c.after.measure, c.after.attribute, c.after.about(),
                             text::gap(c.before.interval.value),
                             text::gap(c.after.interval.value));
    add("no figure is worse than in " + since.previous.file,
        worse.empty() ? Verdict::pass : Verdict::fail, worse, pairing_words(since));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{0}\" "
      "failures=\"{1}\" skipped=\"{2}\" errors=\"0\">\n  <testsuite name=\"fmd audit\" "
      "tests=\"{0}\" failures=\"{1}\" skipped=\"{2}\" errors=\"0\">\n{3}  "
      "</testsuite>\n</testsuites>\n",
      tests, failed, skipped, cases);
}

}  // namespace fmd
