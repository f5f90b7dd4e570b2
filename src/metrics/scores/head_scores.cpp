#include "fmd/metrics/head_scores.h"

#include "fmd/model/passes.h"

namespace fmd {

Scored score_rows(const Head& head, const Vector& theta, const Rows& rows, double threshold,
                  int favorable, const Exec& exec) {
  Scored scored;
  scored.p = all_probabilities(head, rows, theta, exec);
  scored.decision = decide(scored.p, threshold);
  scored.favorable = favorable;
  for (Index i = 0; i < rows.size() && !rows.y.empty(); ++i)
    scored.y.push_back(rows.label(i));
  return scored;
}

PairScores score_pairs(const Head& head, const Vector& theta, const PairSet& pairs,
                       double threshold, const Exec& exec) {
  std::vector<Index> rows, position;
  for (Index i = 0; i < pairs.size(); ++i) {
    const Index row = pairs.c.row(i);
    if (rows.empty() || rows.back() != row) rows.push_back(row);
    position.push_back(std::ssize(rows) - 1);
  }
  Rows c = pairs.c;
  c.subset = rows;
  const Matrix p = all_probabilities(head, c, theta, exec);
  PairScores scores;
  scores.p.resize(pairs.size(), p.cols());
  for (Index i = 0; i < pairs.size(); ++i)
    scores.p.row(i) = p.row(position[static_cast<std::size_t>(i)]);
  scores.pbar = all_probabilities(head, pairs.cbar, theta, exec);
  for (Index i = 0; i < pairs.size() && !pairs.cbar.y.empty(); ++i)
    scores.y.push_back(pairs.cbar.label(i));
  scores.decision = decide(scores.p, threshold);
  scores.decision_bar = decide(scores.pbar, threshold);
  scores.unit = pairs.unit;
  scores.weight = pairs.weight;
  scores.from = pairs.from;
  scores.to = pairs.to;
  return scores;
}

}  // namespace fmd
