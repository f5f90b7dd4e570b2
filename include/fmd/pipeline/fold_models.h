#pragma once

#include <cstdint>
#include <vector>

#include "fmd/pipeline/study.h"

namespace fmd {

// The models of a cross-fit. Row i of a study is answered by model fold[i], which was
// fitted without the row. They differ in the head's parameters alone.
struct FoldModels {
  std::vector<Model> models;
  std::vector<std::int32_t> fold;
};

// Both throw what score() and score_pairs() of one model throw.
[[nodiscard]] Scored score(const FoldModels& folds, const Study& study, const Exec& exec);
[[nodiscard]] PairScores score_pairs(const FoldModels& folds, const Study& study,
                                     const StudyPairs& pairs, const Exec& exec);

}  // namespace fmd
