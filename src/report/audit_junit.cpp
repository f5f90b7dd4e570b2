#include <fmt/format.h>

#include "fmd/report/audit_formats.h"
#include "report/limit_words.h"
#include "report/text.h"

namespace fmd {
namespace {

// XML 1.0 has no way to write most control characters: they become blanks.
std::string escaped(const std::string& text) {
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
std::string message(const LimitResult& limit) {
  std::string out;
  for (const LimitLine& line : limit.lines)
    if (line.verdict == limit.verdict) out += (out.empty() ? "" : "; ") + line_words(line);
  return out.empty() ? reason_words(limit.reason) : out;
}

std::string test_case(const AuditReport& report, const std::string& name, Verdict verdict,
                      const std::string& message, const std::string& body) {
  const std::string head =
      fmt::format("    <testcase classname=\"fmd.audit.{}\" name=\"{}\"",
                  escaped(report.data), escaped(name));
  if (verdict == Verdict::fail)
    return fmt::format("{}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                       head, escaped(message), escaped(body));
  if (verdict == Verdict::unclear)
    return fmt::format(
        "{}>\n      <skipped message=\"not enough evidence: {}\"/>\n"
        "    </testcase>\n",
        head, escaped(message));
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
    add(limit_words(limit), limit.verdict, message(limit), body);
  }
  if (report.baseline) {
    const BaselineReport& baseline = *report.baseline;
    std::string worse;
    for (const FigureChange& c : baseline.changes)
      if (c.direction == Direction::worse)
        worse += fmt::format("{}{}:{} {} {} -> {}", worse.empty() ? "" : "; ",
                             c.after.measure, c.after.attribute, c.after.about(),
                             text::gap(c.before.interval.value),
                             text::gap(c.after.interval.value));
    add("no figure is worse than in " + baseline.earlier.file,
        worse.empty() ? Verdict::pass : Verdict::fail, worse, pairing_words(baseline));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites tests=\"{0}\" failures=\"{1}\" skipped=\"{2}\" errors=\"0\">\n"
      "  <testsuite name=\"fmd audit\" tests=\"{0}\" failures=\"{1}\" skipped=\"{2}\" "
      "errors=\"0\">\n{3}  </testsuite>\n</testsuites>\n",
      tests, failed, skipped, cases);
}

}  // namespace fmd
