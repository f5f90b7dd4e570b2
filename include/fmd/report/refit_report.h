#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// How a figure varies with the rows of the training: the model's own value +- z times the
// spread over the refits.
struct RefitFigure {
  std::string attribute;  // "" for figures of all rows
  std::string measure;
  Interval value;
};

struct RefitReport {
  Index refits = 0;
  std::vector<RefitFigure> figures = {};
};

}  // namespace fmd
