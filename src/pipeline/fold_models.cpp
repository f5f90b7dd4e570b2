#include "fmd/pipeline/fold_models.h"

#include "core/index.h"

namespace fmd {

Scored score(const FoldModels& folds, const Study& study, const Exec& exec) {
  Scored all;
  for (std::size_t k = 0; k < folds.models.size(); ++k) {
    Scored one = score(folds.models[k], study, {}, exec);
    for (std::size_t i = 0; k > 0 && i < folds.fold.size(); ++i) {
      if (folds.fold[i] != static_cast<std::int32_t>(k)) continue;
      const auto row = static_cast<Index>(i);
      all.p.row(row) = one.p.row(row);
      all.decision[i] = one.decision[i];
    }
    if (k == 0) all = std::move(one);
  }
  return all;
}

PairScores score_pairs(const FoldModels& folds, const Study& study, const StudyPairs& pairs,
                       const Exec& exec) {
  PairScores all;
  for (std::size_t k = 0; k < folds.models.size(); ++k) {
    PairScores one = score_pairs(folds.models[k], study, pairs, exec);
    for (Index i = 0; k > 0 && i < pairs.size(); ++i) {
      if (folds.fold[at(pairs.row[at(i)])] != static_cast<std::int32_t>(k)) continue;
      all.p.row(i) = one.p.row(i);
      all.pbar.row(i) = one.pbar.row(i);
      all.decision[at(i)] = one.decision[at(i)];
      all.decision_bar[at(i)] = one.decision_bar[at(i)];
    }
    if (k == 0) all = std::move(one);
  }
  return all;
}

}  // namespace fmd
