#include "metrics/pairs/pair_values.h"

#include <cmath>

#include "core/check.h"
#include "core/index.h"

namespace fmd::internal {

PairValue pair_value(const PairScores& s, Index i) {
  PairValue pair;
  if (s.p.cols() == 2) {
    pair.change = s.pbar(i, 1) - s.p(i, 1);
    pair.tv = std::abs(pair.change);
  } else {
    pair.tv = (s.pbar.row(i) - s.p.row(i)).lpNorm<1>() / 2;
    const std::int32_t y = s.y.empty() ? -1 : s.y[at(i)];
    pair.change = y < 0 ? kUndefined : s.pbar(i, y) - s.p(i, y);
  }
  pair.flipped = s.decision[at(i)] != s.decision_bar[at(i)];
  return pair;
}

double pair_weight(const PairScores& s, Index i) {
  return s.weight.empty() ? 1.0 : static_cast<double>(s.weight[at(i)]);
}

std::vector<Index> unit_starts(const PairScores& s) {
  std::vector<Index> starts;
  const auto pairs = static_cast<Index>(s.unit.size());
  for (Index i = 0; i < pairs; ++i)
    if (i == 0 || s.unit[at(i)] != s.unit[at(i - 1)]) starts.push_back(i);
  starts.push_back(pairs);
  return starts;
}

void require_pairs(const PairScores& s) {
  const Index pairs = s.p.rows();
  const auto size = [&](const char* name, std::size_t has) {
    require_size("flip_report", name, static_cast<Index>(has), pairs);
  };
  size("pbar", at(s.pbar.rows()));
  require_size("flip_report", "a row of pbar", s.pbar.cols(), s.p.cols());
  require_option(pairs == 0 || s.p.cols() >= 2, "flip_report", "classes", s.p.cols(),
                 ">= 2");
  size("decision", s.decision.size());
  size("decision_bar", s.decision_bar.size());
  size("unit", s.unit.size());
  if (!s.y.empty()) size("y", s.y.size());
  if (!s.weight.empty()) size("weight", s.weight.size());
  size("from", s.from.empty() ? at(pairs) : s.from.size());
  size("to", s.from.size() == s.to.size() ? at(pairs) : s.to.size());
  for (const std::int32_t y : s.y)
    require_option(y >= -1 && y < s.p.cols(), "flip_report", "y", y, "a class, or -1");
  for (const float w : s.weight) require_option(w > 0, "flip_report", "weight", w, "> 0");
}

}  // namespace fmd::internal
