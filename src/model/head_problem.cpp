#include "fmd/model/head_problem.h"

#include <algorithm>

namespace fmd {

bool HeadProblem::all_of_kind(PairKind kind) const {
  return std::all_of(repaired.begin(), repaired.end(),
                     [&](const RepairedAttribute& a) { return a.kind == kind; });
}

}  // namespace fmd
