#include "fmd/report/match_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/audit_words.h"
#include "report/match_report.h"
#include "report/text.h"

namespace fmd {

std::pair<Index, Index> unbalanced(const MatchReport& report) {
  std::pair<Index, Index> count = {0, 0};
  for (const BalanceLine& line : report.balance) {
    count.first += std::abs(line.before) > kImbalance;
    count.second += std::abs(line.after) > kImbalance;
  }
  return count;
}

}  // namespace fmd

namespace fmd::internal {
namespace {

Json balance_json(const MatchReport& match) {
  Json lines = Json::array();
  for (const BalanceLine& line : match.balance) {
    Json one = {{"column", line.column}};
    if (!line.level.empty()) one["level"] = line.level;
    one["first"] = line.first;
    one["second"] = line.second;
    one["before"] = number(line.before);
    one["after"] = number(line.after);
    lines.push_back(one);
  }
  return lines;
}

Json plan_json(const MatchReport& match) {
  Json unmatched = Json::object();
  for (const auto& [why, count] : match.unmatched) unmatched[why] = count;
  const auto [before, after] = unbalanced(match);
  return {{"by", match.by},
          {"columns", match.columns},
          {"same_label", match.same_label},
          {"reuse", match.reuse},
          {"caliper", number(match.caliper)},
          {"values", match.values},
          {"rows", match.rows},
          {"matched", match.matched},
          {"pairs", match.pairs},
          {"compared", match.compared},
          {"unmatched", unmatched},
          {"partners", match.partners},
          {"most_used", match.most_used},
          {"quality", number(match.quality)},
          {"distance", number(match.distance)},
          {"flip_rate", number(match.flip_rate)},
          {"flip_rate_floor", number(match.flip_rate_floor)},
          {"unbalanced", {{"before", before}, {"after", after}}},
          {"balance", balance_json(match)}};
}

using text::bare;
using text::clip;
using text::fixed;
using text::gap;
using text::percent;
using text::range;

std::string match_words(const MatchReport& m) {
  std::string words = fmt::format("{} of {} rows matched by {}", text::count(m.matched),
                                  text::count(m.rows), m.by);
  if (m.by == "overlap") words += fmt::format(" of {}", fmt::join(m.columns, ", "));
  words +=
      fmt::format(", {} pairs; {} rows serve, the most used one {} times",
                  text::count(m.pairs), text::count(m.partners), text::count(m.most_used));
  words += m.reuse > 0 ? fmt::format(" (at most {})", text::count(m.reuse)) : " (no limit)";
  words += fmt::format("; quality {}", bare(m.quality, 2));
  if (!m.same_label) words += "; no labels: partners may have another one";
  for (const auto& [why, n] : m.unmatched)
    words += fmt::format("; {} left out: {}", text::count(n), why);
  return words;
}

// The columns that are furthest apart before, and what is left of that within the pairs.
void add_balance(const MatchReport& m, SheetSection& s) {
  static const SheetColumns columns = sheet_columns(
      "           {balance, standardised difference:36.} {before:>7}   {within pairs:>12}");
  std::vector<const BalanceLine*> lines;
  for (const BalanceLine& line : m.balance)
    if (!std::isnan(line.before)) lines.push_back(&line);
  std::stable_sort(lines.begin(), lines.end(), [](const auto* a, const auto* b) {
    return std::abs(a->before) > std::abs(b->before);
  });
  s.table(columns);
  for (std::size_t i = 0; i < std::min<std::size_t>(4, lines.size()); ++i) {
    const BalanceLine& line = *lines[i];
    s.row(columns, {"  " + line.column + (line.level.empty() ? "" : "=" + line.level),
                    fixed(line.before, 3), fixed(line.after, 3)});
  }
  const auto [before, after] = unbalanced(m);
  s.row(columns, {fmt::format("  beyond {} of {}", bare(kImbalance, 1),
                              text::count(std::ssize(m.balance))),
                  text::count(before), text::count(after)});
}

void add_match(const AttributeAudit& a, SheetSection& s) {
  const MatchReport& m = *a.match;
  if (!m.reason.empty()) {
    s.line(fmt::format("  {:<8} ", clip(a.name, 8)), m.reason);
    return;
  }
  const auto add = [&](const std::string& name, const char* what, const Interval& value,
                       const std::string& answers) {
    s.row(flip_columns(), {name, what, {gap(value.value), value}, range(value), answers});
  };
  add(a.name, "nearest row of another value", m.co, percent(m.flip_rate) + " %");
  add("", "floor: nearest of the same value", m.floor, percent(m.flip_rate_floor) + " %");
  add("", "excess over the floor", m.excess, "");
  s.line(std::string(11, ' '), match_words(m));
  add_balance(m, s);
}

}  // namespace

void match_json(const AttributeAudit& audit, Json& attribute, Json& measures) {
  if (!audit.flip_test.empty()) {
    Json tests = Json::array();
    for (const FlipTest& test : audit.flip_test) {
      Json one = {
          {"group", test.group}, {"reference", test.reference}, {"rows", test.rows}};
      one.update(interval_json(test.value));
      tests.push_back(one);
    }
    measures["flip_test"] = tests;
  }
  if (!audit.match) return;
  const MatchReport& match = *audit.match;
  measures["co_match"] = interval_json(match.co, match.reason);
  measures["co_match_floor"] = interval_json(match.floor, match.reason);
  measures["co_match_excess"] = interval_json(match.excess, match.reason);
  attribute["match"] = plan_json(match);
}

void add_matches(const AuditReport& r, Sheet& sheet) {
  SheetSection& s = sheet.add("MATCHED PAIRS ", "two rows, same label",
                              "           matched gap      answers differ");
  for (const AttributeAudit& a : r.attributes)
    if (a.match) add_match(a, s);
  if (!r.neighbours) return;
  SheetSection& near = sheet.add(
      "NEIGHBOURS ",
      fmt::format("the {} nearest rows, each row its own first", r.neighbours->k));
  line(near, "  ", "consistency {} {}   1 = all near rows get the same answer",
       bare(r.neighbours->consistency.value), range(r.neighbours->consistency));
  for (const AttributeAudit& a : r.attributes)
    for (const FlipTest& test : a.flip_test)
      line(near, "  ", "flip test {}: {} {} {}", clip(a.name, 12),
           clip(test.group + " by near " + test.reference, 34), bare(test.value.value),
           range(test.value));
}

}  // namespace fmd::internal
