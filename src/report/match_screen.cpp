#include "report/match_screen.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/text.h"

namespace fmd {
namespace {

using text::bare;
using text::clip;
using text::count;
using text::fixed;
using text::gap;
using text::percent;
using text::range;
using text::wrap;

std::string figure(const std::string& name, const std::string& what, const Interval& value,
                   double answers) {
  return fmt::format("  {:<8} {:<33} {:>5} {:<16} {:>8}\n", clip(name, 8), clip(what, 33),
                     gap(value.value), range(value), percent(answers) + " %");
}

std::string how(const MatchReport& m) {
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
  std::string out = figure(a.name, "nearest row of another value", m.co, m.flip_rate);
  out += figure("", "floor: nearest of the same value", m.floor, m.flip_rate_floor);
  out += fmt::format("  {:<8} {:<33} {:>5} {}\n", "", "excess over the floor",
                     gap(m.excess.value), range(m.excess));
  out += "           " + wrap(how(m), 11, 11) + "\n";
  return out + balance_lines(m);
}

}  // namespace

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
      "  consistency {} {}   1 = all near rows are answered alike\n",
      r.neighbours->k, bare(r.neighbours->consistency.value),
      range(r.neighbours->consistency));
  for (const AttributeAudit& a : r.attributes)
    for (const FlipTest& test : a.flip_test)
      out += fmt::format("  flip test {}: {} {} {}\n", clip(a.name, 12),
                         clip(test.group + " by near " + test.reference, 34),
                         bare(test.value.value), range(test.value));
  return out;
}

}  // namespace fmd
