#pragma once

#include <map>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"

namespace fmd {

// How often the intervals of an audit hold the figure of the population that the rows were
// drawn from.
struct CoverageOptions {
  Index draws = 2000;  // samples of each population and size
  std::vector<Index> rows = {600, 6000};
  Index replicates = 1000;  // of every bootstrap
};

// What a figure is decides how its coverage is judged: 93 to 97 % for a mean (a share, a
// difference or a ratio too), at least 93 % for the largest of several or a size, and for
// several that hold together. A quantile of scores that have few different values is mostly
// the population's own: at least 93 % too.
enum class CoverageKind { mean, largest, together, quantile };

struct CoveredFigure {
  CoverageKind kind = CoverageKind::mean;
  Index inside = 0, intervals = 0;
};

// One population at one number of rows.
struct CoverageSetting {
  std::string population;
  Index rows = 0, draws = 0;
  std::map<std::string, CoveredFigure> figures;
};

// The populations by name: groups that are all alike, two groups of equal size that differ,
// five groups of different sizes.
[[nodiscard]] const std::vector<std::string>& coverage_populations();

// Draws number setting.draws to `until` - 1, added to the setting. Draw k is the same
// whatever was drawn before, so work can stop and go on.
void add_draws(CoverageSetting& setting, Index until, const CoverageOptions& options,
               const Exec& exec);

[[nodiscard]] std::string to_json(const std::vector<CoverageSetting>& settings,
                                  std::uint64_t seed);
// Throws Error(bad_model) for what to_json() did not write.
[[nodiscard]] std::vector<CoverageSetting> parse_coverage(const std::string& json,
                                                          const std::string& source,
                                                          std::uint64_t seed);
// Whether a share of intervals that held is as it should be, within the error of the draws.
[[nodiscard]] bool covers(const CoveredFigure& figure);

}  // namespace fmd
