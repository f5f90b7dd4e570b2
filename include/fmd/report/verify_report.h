#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/report/sheet.h"

namespace fmd {

enum class CheckResult { ok, differs, unchecked };

// One claim of a receipt, and the result of its check.
struct Check {
  std::string what;  // "model", "data, train", "figures on test", ...
  CheckResult result = CheckResult::unchecked;
  std::string detail;     // what was compared, what differs, or why it was not checked
  bool computed = false;  // figures or parameters were computed again, not only checksums
};

struct VerifyReport {
  std::string receipt;                        // file name
  std::string out, written, version, kernel;  // from the receipt
  std::vector<Check> checks;
  double tolerance = 0;           // of figures and parameters, relative to max(1, size)
  double largest_difference = 0;  // among all compared numbers

  // differs: something differs. unchecked: only checksums could be checked.
  [[nodiscard]] CheckResult verdict() const;
  // 0 everything that could be checked agrees, 1 something differs, 3 only checksums could
  // be checked.
  [[nodiscard]] int exit_code() const;
};

[[nodiscard]] std::string to_string(CheckResult result);  // "ok" | "differs" | "unchecked"
[[nodiscard]] std::string to_json(const VerifyReport& report);
[[nodiscard]] Sheet sheet_of(const VerifyReport& report);

}  // namespace fmd
