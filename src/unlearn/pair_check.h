#pragma once

#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/model/head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// Throws Error(bad_shape, bad_data) unless both sides have one entry for each weight and as
// many features as the head reads, and the weights are >= 0 and not all 0.
inline void require_pairs(std::string_view where, const Head& head,
                          std::span<const PairSet> sets) {
  for (const PairSet& pairs : sets) {
    if (pairs.c.size() != pairs.cbar.size())
      throw Error(ErrorKind::bad_shape,
                  fmt::format("{}: {} rows c but {} rows cbar", where, pairs.c.size(),
                              pairs.cbar.size()),
                  "every row c needs exactly one counterfactual");
    require_size(where, "the weight of the pairs", pairs.size(), pairs.c.size());
    if (pairs.size() == 0)
      throw Error(ErrorKind::bad_data, fmt::format("{}: a set of pairs is empty", where),
                  "leave out attributes without pairs");
    require_size(where, "a row of c", pairs.c.X->cols(), head.inputs());
    require_size(where, "a row of cbar", pairs.cbar.X->cols(), head.inputs());
    for (const float weight : pairs.weight)
      if (!(weight >= 0)) require_option(false, where, "pair weight", weight, ">= 0");
    if (!(pairs.total_weight() > 0))
      throw Error(ErrorKind::bad_data, fmt::format("{}: all pairs have weight 0", where),
                  "give at least one pair a weight > 0");
  }
}

}  // namespace fmd::internal
