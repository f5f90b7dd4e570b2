#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

struct Part {
  std::string name;
  double share = 0;
};

// Parses "train=.5,repair=.2,test=.3". Shares must be > 0 and sum to at most 1, and names
// must differ; otherwise Error(bad_option).
[[nodiscard]] std::vector<Part> parse_parts(const std::string& text);

// Row numbers of each part, ascending, drawn by the seed. Stratified: within each stratum
// (rows with equal numbers in `stratum`, e.g. label x attribute) every part gets its share
// to within one row, and so do the totals. Rows beyond the sum of the shares are in no
// part.
[[nodiscard]] std::vector<std::vector<Index>> split_rows(
    std::span<const std::int32_t> stratum, std::span<const Part> parts, std::uint64_t seed);

}  // namespace fmd
