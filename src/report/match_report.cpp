#include "fmd/report/match_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
using text::count;
using text::fixed;
using text::gap;
using text::percent;
using text::range;
using text::wrap;

std::string match_line(const std::string& name, const std::string& what,
                       const Interval& value, double answers) {
  return fmt::format("  {:<8} {:<33} {:>5} {:<16} {:>8}\n", clip(name, 8), clip(what, 33),
                     gap(value.value), range(value), percent(answers) + " %");
}

std::string match_words(const MatchReport& m) {
  std::string words =
      fmt::format("{} of {} rows matched by {}", count(m.matched), count(m.rows), m.by);
  if (m.by == "overlap") words += fmt::format(" of {}", fmt::join(m.columns, ", "));
  words += fmt::format(", {} pairs; {} rows serve, the most used one {} times",
                       count(m.pairs), count(m.partners), count(m.most_used));
  words += m.reuse > 0 ? fmt::format(" (at most {})", count(m.reuse)) : " (no limit)";
  words += fmt::format("; quality {}", bare(m.quality, 2));
  if (!m.same_label) words += "; no labels: partners may have another one";
  for (const auto& [why, n] : m.unmatched)
    words += fmt::format("; {} left out: {}", count(n), why);
  return words;
}

// The columns that are furthest apart before, and what is left of that within the pairs.
std::string balance_lines(const MatchReport& m) {
  std::vector<const BalanceLine*> lines;
  for (const BalanceLine& line : m.balance)
    if (!std::isnan(line.before)) lines.push_back(&line);
  std::stable_sort(lines.begin(), lines.end(), [](const auto* a, const auto* b) {
    return std::abs(a->before) > std::abs(b->before);
  });
  const auto [before, after] = unbalanced(m);
  std::string out =
      "           balance, standardised difference       before   within pairs\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(4, lines.size()); ++i) {
    const BalanceLine& line = *lines[i];
    const std::string name =
        line.level.empty() ? line.column : line.column + "=" + line.level;
    out += fmt::format("             {:<34} {:>7}        {:>7}\n", clip(name, 34),
                       fixed(line.before, 3), fixed(line.after, 3));
  }
  return out + fmt::format("             beyond {} of {:<23} {:>7}        {:>7}\n",
                           bare(kImbalance, 1), count(std::ssize(m.balance)), count(before),
                           count(after));
}

std::string match_lines(const AttributeAudit& a) {
  const MatchReport& m = *a.match;
  if (!m.reason.empty())
    return fmt::format("  {:<8} {}\n", clip(a.name, 8), wrap(m.reason, 11, 11));
  std::string out = match_line(a.name, "nearest row of another value", m.co, m.flip_rate);
  out += match_line("", "floor: nearest of the same value", m.floor, m.flip_rate_floor);
  out += fmt::format("  {:<8} {:<33} {:>5} {}\n", "", "excess over the floor",
                     gap(m.excess.value), range(m.excess));
  out += "           " + wrap(match_words(m), 11, 11) + "\n";
  return out + balance_lines(m);
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

std::string match_part(const AuditReport& r) {
  std::string out;
  for (const AttributeAudit& a : r.attributes) {
    if (!a.match) continue;
    if (out.empty())
      out =
          "\nMATCHED PAIRS  two rows, same label           matched gap      answers "
          "differ\n";
    out += match_lines(a);
  }
  if (!r.neighbours) return out;
  out += fmt::format(
      "\nNEIGHBOURS  the {} nearest rows, each row its own first\n"
      "  consistency {} {}   1 = all near rows get the same answer\n",
      r.neighbours->k, bare(r.neighbours->consistency.value),
      range(r.neighbours->consistency));
  for (const AttributeAudit& a : r.attributes)
    for (const FlipTest& test : a.flip_test)
      out += fmt::format("  flip test {}: {} {} {}\n", clip(a.name, 12),
                         clip(test.group + " by near " + test.reference, 34),
                         bare(test.value.value), range(test.value));
  return out;
}

}  // namespace fmd::internal
