#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/model/nearest.h"
#include "fmd/pipeline/match_plan.h"

namespace fmd::internal {

// Where distances are taken, and how far apart two rows drawn at random are there.
struct MatchSpace {
  std::unique_ptr<Features> X;
  Distance distance = Distance::euclidean;
  double scale = 1;                  // overlap: number of columns
  double random = 1;                 // the distance at which a pair's quality is 0
  std::vector<std::string> columns;  // overlap

  [[nodiscard]] double quality(double distance) const {
    return std::max(0.0, 1 - distance / random);
  }
};

// cell: label x value of each row, -1 = not matched.
[[nodiscard]] MatchSpace match_space(const MatchInput& input,
                                     std::span<const std::int32_t> cell, const Exec& exec);

}  // namespace fmd::internal
