#pragma once

#include <cstddef>
#include <vector>

#include "core/internal.h"
#include "fmd/model/head_problem.h"

namespace fmd::internal {

// Some rows of a part with all pairs of these rows, and the places that both have in the
// part.
struct SomeRows {
  std::vector<Index> rows;  // row numbers, ascending
  std::vector<std::vector<Index>> c,
      cbar;  // per attribute: row numbers of the pairs' sides
  std::vector<std::vector<Index>> unit_place;  // per attribute: place of each of its units
  HeadPart part;                               // a view of the vectors above
};

// A problem without one of its folds: the other rows are edited, the fold is the hold-out.
// It points into the problem, which must outlive it, and into itself.
struct FoldProblem {
  FoldProblem(const HeadProblem& whole, std::size_t fold);
  FoldProblem(const FoldProblem&) = delete;
  FoldProblem& operator=(const FoldProblem&) = delete;

  SomeRows others, fold;
  HeadProblem problem;
};

}  // namespace fmd::internal
