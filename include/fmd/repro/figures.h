#pragma once

#include <string>
#include <vector>

#include "fmd/repro/reproduced_table.h"

namespace fmd {

// A figure of the paper, drawn from what was measured.
struct ReproducedFigure {
  std::string name;  // of its file, without ending: "toy-decisions"
  std::string title;
  std::string svg;
};

// The figures that the rows and pictures of a table give: none for most tables. Throws
// Error(bad_task) for pictures of another form.
[[nodiscard]] std::vector<ReproducedFigure> figures_of(const ReproducedTable& table);

}  // namespace fmd
