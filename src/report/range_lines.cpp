#include "report/range_lines.h"

#include <cmath>

#include <fmt/format.h>

#include "report/text.h"

namespace fmd::internal {

using text::gap;
using text::range;
using text::wrap;

std::string slope_lines(const AttributeAudit& a) {
  if (!a.slope) return "";
  const SlopeReport& s = *a.slope;
  return fmt::format("           slope, mean |change of p| per deviation ({}) {} {}\n",
                     fmt::format("{:.4g}", s.deviation), gap(s.per_deviation.value),
                     range(s.per_deviation)) +
         fmt::format("           per unit {}{}\n",
                     fmt::format("{:.2g} [{:.2g}, {:.2g}]", s.per_unit.value,
                                 s.per_unit.low, s.per_unit.high),
                     std::isnan(s.signed_per_unit) ? ""
                     : s.signed_per_unit < 0       ? "; p of the favourable answer falls"
                                                   : "; p of the favourable answer rises");
}

std::string cuts_line(const AttributeAudit& a) {
  if (a.cuts.empty()) return "";
  std::string cuts;
  for (const double cut : a.cuts)
    cuts += fmt::format("{}{}", cuts.empty() ? "" : ", ", cut);
  return fmt::format("  a range begins at its cut: {}\n", wrap(cuts, 29, 29));
}

}  // namespace fmd::internal
