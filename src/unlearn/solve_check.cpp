#include "unlearn/solve_check.h"

#include <cmath>

#include "core/check.h"
#include "unlearn/pair_check.h"

namespace fmd::internal {
namespace {

void require_labels(std::span<const PairSet> sets) {
  for (const PairSet& pairs : sets)
    for (Index i = 0; i < pairs.size(); ++i)
      if (pairs.c.label(i) < 0)
        throw Error(ErrorKind::bad_data,
                    fmt::format("solve: pair {} has no label, but fit is > 0", i),
                    "give labels to the pairs or set fit to 0");
}

void require_gaps(const Rows& rows, const SolveOptions& o) {
  for (const GapPenalty& gap : o.gaps) {
    require_option(gap.gamma >= 0 && std::isfinite(gap.gamma), "solve", "gamma", gap.gamma,
                   ">= 0");
    if (gap.measure == nullptr || gap.measure->on_pairs())
      throw Error(
          ErrorKind::bad_option,
          fmt::format("solve: gap penalty on '{}', needs a measure on rows",
                      gap.measure == nullptr ? "nothing" : gap.measure->name()),
          "use demographic_parity_soft, equal_opportunity_soft or false_positive_soft");
    if (rows.X != nullptr)
      require_size("solve", "the group of a gap", static_cast<Index>(gap.group.size()),
                   rows.X->rows());
  }
}

}  // namespace

void require_solvable(const Head& head, std::span<const PairSet> pairs,
                      const SolveOptions& o) {
  require_pairs("solve", head, pairs);
  if (o.fit > 0) require_labels(pairs);
}

void require_solvable(const Head& head, const Vector& theta0, const Rows& rows,
                      std::span<const PairSet> pairs, const SolveOptions& o) {
  const auto weight = [](std::string_view name, double value) {
    require_option(value >= 0 && std::isfinite(value), "solve", name, value, ">= 0");
  };
  weight("anchor", o.anchor);
  weight("fit", o.fit);
  weight("lambda", o.lambda);
  weight("mu", o.mu);
  require_option(o.tolerance > 0, "solve", "tolerance", o.tolerance, "> 0");
  require_option(o.damping > 0 && std::isfinite(o.damping), "solve", "damping", o.damping,
                 "> 0");
  require_option(o.max_iterations >= 0, "solve", "max_iterations", o.max_iterations,
                 ">= 0");
  require_option(o.min_fall >= 0, "solve", "min_fall", o.min_fall, ">= 0");
  require_option(o.max_dense >= 0, "solve", "max_dense", o.max_dense, ">= 0");
  require_size("solve", "theta0", theta0.size(), head.parameters());
  require_solvable(head, pairs, o);
  require_gaps(rows, o);
  if (o.anchor == 0 && o.gaps.empty()) return;
  if (rows.X == nullptr || rows.size() == 0)
    throw Error(ErrorKind::bad_data,
                "solve: there are no rows, but anchor is > 0 or gaps are given",
                "give rows, or set anchor to 0");
  require_size("solve", "a row", rows.X->cols(), head.inputs());
}

}  // namespace fmd::internal
