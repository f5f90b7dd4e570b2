#include "fmd/report/verify_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/json.h"
#include "report/line.h"

namespace fmd {
namespace {

Index count_checks(const VerifyReport& r, CheckResult result) {
  return std::count_if(r.checks.begin(), r.checks.end(),
                       [&](const Check& c) { return c.result == result; });
}

std::string verify_verdict(const VerifyReport& r) {
  switch (r.verdict()) {
    case CheckResult::ok:
      return fmt::format(
          "OK, {} checked, {} not; largest difference {:.1g} of {:g} allowed",
          count_checks(r, CheckResult::ok), count_checks(r, CheckResult::unchecked),
          r.largest_difference, r.tolerance);
    case CheckResult::differs:
      return fmt::format(
          "DIFFERS, {} of {} checked", count_checks(r, CheckResult::differs),
          count_checks(r, CheckResult::ok) + count_checks(r, CheckResult::differs));
    case CheckResult::unchecked:
      break;
  }
  return "NOT ENOUGH, only checksums could be checked";
}

}  // namespace

CheckResult VerifyReport::verdict() const {
  if (count_checks(*this, CheckResult::differs) > 0) return CheckResult::differs;
  const bool computed = std::any_of(checks.begin(), checks.end(), [](const Check& c) {
    return c.computed && c.result == CheckResult::ok;
  });
  return computed ? CheckResult::ok : CheckResult::unchecked;
}

int VerifyReport::exit_code() const {
  const CheckResult now = verdict();
  return now == CheckResult::ok ? 0 : now == CheckResult::differs ? 1 : 3;
}

std::string to_string(CheckResult result) {
  return result == CheckResult::ok        ? "ok"
         : result == CheckResult::differs ? "differs"
                                          : "unchecked";
}

std::string to_json(const VerifyReport& r) {
  Json json = {{"schema", 1},
               {"command", "verify"},
               {"receipt", r.receipt},
               {"out", r.out},
               {"tolerance", r.tolerance},
               {"largest_difference", number(r.largest_difference)}};
  json["checks"] = Json::array();
  for (const Check& c : r.checks)
    json["checks"].push_back({{"what", c.what},
                              {"result", to_string(c.result)},
                              {"computed", c.computed},
                              {"detail", c.detail}});
  json["verdict"] = to_string(r.verdict());
  return json_lines(json);
}

Sheet sheet_of(const VerifyReport& r) {
  static const SheetColumns columns = sheet_columns("  {:8} {what:19} {detail:~}");
  Sheet sheet;
  sheet.command = "verify";
  SheetSection& s = sheet.add();
  s.line("receipt  ", r.receipt);
  // Audits hold no date and no kernel.
  const std::string when = r.written == "unknown" ? "" : r.written + " ";
  const std::string kernel = r.kernel == "unknown" ? "" : ", CPU kernel " + r.kernel;
  line(s, "written  ", "{}by fmd {}{}", when, r.version, kernel);
  s.blank();
  for (const Check& c : r.checks)
    s.row(columns, {c.result == CheckResult::ok        ? "ok"
                    : c.result == CheckResult::differs ? "DIFFERS"
                                                       : "-",
                    c.what, c.detail});
  s.blank();
  if (count_checks(r, CheckResult::unchecked) > 0)
    s.line("  -        ", "could not be checked");
  line(s, "verdict: ", "{} (exit {})", verify_verdict(r), r.exit_code());
  return sheet;
}

}  // namespace fmd
