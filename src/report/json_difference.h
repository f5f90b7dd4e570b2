#pragma once

#include <string>

#include "report/json.h"

namespace fmd::internal {

// How two JSON values differ. Numbers differ when they are more than tolerance x max(1,
// size) apart. All other values differ when they are not equal.
struct JsonDifference {
  Index compared = 0;   // numbers
  Index differing = 0;  // values of any kind
  double largest = 0;   // among all numbers, also those within the tolerance
  std::string first;    // where the first one is, and both values
};

// Adds the differences of two values under the name `where`.
void add_differences(const std::string& where, const Json& claimed, const Json& now,
                     double tolerance, JsonDifference& into);

}  // namespace fmd::internal
