#include "pipeline/match_balance.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/index.h"

namespace fmd::internal {
namespace {

// A number for each row; NaN where it is missing.
using Values = std::function<double(Index row)>;

struct Moments {
  double n = 0, mean = 0, squares = 0;  // Welford's
  void add(double x) {
    n += 1;
    const double off = x - mean;
    mean += off / n;
    squares += off * (x - mean);
  }
  [[nodiscard]] double variance() const { return n > 1 ? squares / (n - 1) : 0; }
};

class Balance {
 public:
  Balance(const MatchPlan& plan, const MatchInput& input) : plan_(plan), input_(input) {
    const std::int32_t wanted = input.attribute->reference;
    const bool known =
        std::find(plan.values.begin(), plan.values.end(), wanted) != plan.values.end();
    reference_ = known ? wanted : plan.values.front();
  }

  [[nodiscard]] BalanceLine line(const std::string& column, const std::string& level,
                                 const Values& value) const {
    std::vector<Moments> groups(input_.attribute->values.size());
    for (Index row = 0; row < std::ssize(input_.attribute->code); ++row) {
      const std::int32_t group = input_.attribute->code[at(row)];
      const double x = group < 0 ? kUndefined : value(row);
      if (!std::isnan(x)) groups[at(group)].add(x);
    }
    BalanceLine worst;
    for (const std::int32_t other : plan_.values) {
      if (other == reference_) continue;
      BalanceLine one = pair(groups[at(reference_)], groups[at(other)], other, value);
      if (worst.first.empty() || std::abs(one.before) > std::abs(worst.before)) worst = one;
    }
    worst.column = column;
    worst.level = level;
    return worst;
  }

 private:
  [[nodiscard]] BalanceLine pair(const Moments& first, const Moments& second,
                                 std::int32_t other, const Values& value) const {
    BalanceLine line;
    line.first = input_.attribute->values[at(reference_)];
    line.second = input_.attribute->values[at(other)];
    const double unit = std::sqrt((first.variance() + second.variance()) / 2);
    if (first.n == 0 || second.n == 0) return line;
    // Without any spread there is no unit: only equal means have a known difference, 0.
    if (unit == 0) {
      if (first.mean == second.mean) line.before = line.after = 0;
      return line;
    }
    line.before = (first.mean - second.mean) / unit;
    double sum = 0, total = 0;
    for (std::size_t i = 0; i < plan_.row.size(); ++i) {
      const bool forward = plan_.from[i] == reference_ && plan_.to[i] == other;
      const bool backward = plan_.from[i] == other && plan_.to[i] == reference_;
      if (!forward && !backward) continue;
      const double difference = value(plan_.row[i]) - value(plan_.partner[i]);
      if (std::isnan(difference)) continue;
      const double weight = static_cast<double>(plan_.weight[i]);
      sum += weight * (forward ? difference : -difference);
      total += weight;
    }
    if (total > 0) line.after = sum / total / unit;
    return line;
  }

  const MatchPlan& plan_;
  const MatchInput& input_;
  std::int32_t reference_;
};

}  // namespace

std::vector<BalanceLine> balance(const MatchPlan& plan, const MatchInput& input) {
  std::vector<BalanceLine> lines;
  if (plan.values.size() < 2) return lines;
  const Balance groups(plan, input);
  std::vector<std::string> names = input.columns;
  for (const std::string& name : plan.columns)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  for (const std::string& name : names) {
    const Column& column = input.table->column(name);
    if (column.kind == ColumnKind::number) {
      lines.push_back(
          groups.line(name, "", [&](Index row) { return column.numbers[at(row)]; }));
      continue;
    }
    for (std::size_t level = 0; level < column.levels.size(); ++level) {
      const auto code = static_cast<std::int32_t>(level);
      lines.push_back(groups.line(name, column.levels[level], [&, code](Index row) {
        return column.codes[at(row)] == code ? 1.0 : 0.0;
      }));
    }
  }
  return lines;
}

}  // namespace fmd::internal
