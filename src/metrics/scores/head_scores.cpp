#include "metrics/scores/head_scores.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fmd/metrics/head_scores.h"
#include "fmd/model/passes.h"
#include "model/many_thetas.h"

namespace fmd {

Scored score_rows(const Head& head, const Vector& theta, const Rows& rows, double threshold,
                  int favorable, const Exec& exec) {
  return internal::scored_rows(all_probabilities(head, rows, theta, exec), rows, threshold,
                               favorable);
}

PairScores score_pairs(const Head& head, const Vector& theta, const PairSet& pairs,
                       double threshold, const Exec& exec) {
  const Vector* const one = &theta;
  PairScores scores;
  internal::score_pairs_of_each(
      head, {&one, 1}, pairs, threshold, exec,
      [&](std::size_t, PairScores made) { scores = std::move(made); });
  return scores;
}

}  // namespace fmd

namespace fmd::internal {

Scored scored_rows(Matrix p, const Rows& rows, double threshold, int favorable) {
  Scored scored;
  scored.p = std::move(p);
  scored.decision = decide(scored.p, threshold);
  scored.favorable = favorable;
  for (Index i = 0; i < rows.size() && !rows.y.empty(); ++i)
    scored.y.push_back(rows.label(i));
  return scored;
}

void score_pairs_of_each(const Head& head, std::span<const Vector* const> thetas,
                         const PairSet& pairs, double threshold, const Exec& exec,
                         const std::function<void(std::size_t, PairScores)>& use) {
  constexpr Index kMostScores = 2'000'000;  // that wait in memory
  const auto together = static_cast<std::size_t>(
      std::max<Index>(1, kMostScores / std::max<Index>(1, pairs.size())));
  std::vector<Index> rows, position;
  position.reserve(static_cast<std::size_t>(pairs.size()));
  for (Index i = 0; i < pairs.size(); ++i) {
    const Index row = pairs.c.row(i);
    if (rows.empty() || rows.back() != row) rows.push_back(row);
    position.push_back(std::ssize(rows) - 1);
  }
  Rows c = pairs.c;
  c.subset = rows;
  for (std::size_t first = 0; first < thetas.size(); first += together) {
    const auto some = thetas.subspan(first, std::min(together, thetas.size() - first));
    const std::vector<Matrix> p = probabilities_of_each(head, c, some, exec);
    std::vector<Matrix> pbar = probabilities_of_each(head, pairs.cbar, some, exec);
    for (std::size_t k = 0; k < some.size(); ++k) {
      PairScores scores;
      scores.p.resize(pairs.size(), p[k].cols());
      for (Index i = 0; i < pairs.size(); ++i)
        scores.p.row(i) = p[k].row(position[static_cast<std::size_t>(i)]);
      scores.pbar = std::move(pbar[k]);
      for (Index i = 0; i < pairs.size() && !pairs.cbar.y.empty(); ++i)
        scores.y.push_back(pairs.cbar.label(i));
      scores.decision = decide(scores.p, threshold);
      scores.decision_bar = decide(scores.pbar, threshold);
      scores.unit = pairs.unit;
      scores.weight = pairs.weight;
      scores.from = pairs.from;
      scores.to = pairs.to;
      use(first + k, std::move(scores));
    }
  }
}

}  // namespace fmd::internal
