#include "fmd/metrics/limit_sense.h"

#include "fmd/metrics/confusion.h"

namespace fmd {

LimitSense limit_sense(const std::string& measure) {
  for (const CriterionInfo& criterion : group_criteria())
    if (measure == criterion.name)
      return criterion.ratio ? LimitSense::ratio : LimitSense::at_most;
  const bool large_is_good = measure == "accuracy" || measure.ends_with("_accuracy") ||
                             measure == "selection_ratio";
  return large_is_good ? LimitSense::at_least : LimitSense::at_most;
}

}  // namespace fmd
