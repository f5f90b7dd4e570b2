#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

enum class CheckResult { ok, differs, unchecked };

// One thing that a receipt claims, and what came of looking at it.
struct Check {
  std::string what;  // "model", "data, train", "figures on test", ...
  CheckResult result = CheckResult::unchecked;
  std::string detail;     // what was compared, what differs, or why it could not be checked
  bool computed = false;  // more than a checksum: figures or parameters were made again
};

struct VerifyReport {
  std::string receipt;                        // file name
  std::string out, written, version, kernel;  // as the receipt says
  std::vector<Check> checks;
  double tolerance = 0;           // of figures and parameters, relative to max(1, size)
  double largest_difference = 0;  // among all that were compared

  // differs: something does. unchecked: nothing but checksums could be checked.
  [[nodiscard]] CheckResult verdict() const;
  // 0 everything that could be checked agrees, 1 something differs, 3 nothing but checksums
  // could be checked.
  [[nodiscard]] int exit_code() const;
};

[[nodiscard]] std::string to_string(CheckResult result);  // "ok" | "differs" | "unchecked"
[[nodiscard]] std::string to_json(const VerifyReport& report);
[[nodiscard]] std::string screen(const VerifyReport& report);

}  // namespace fmd
