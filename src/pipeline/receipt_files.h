#pragma once

#include <string>
#include <vector>

#include "fmd/pipeline/verify.h"
#include "pipeline/receipt.h"

namespace fmd::internal {

// A recorded table, and the file that is used for it now.
struct FoundFile {
  DataNote note;
  std::string file;     // empty: none; "data:..." for data sets by name
  bool usable = false;  // has the recorded contents, or was named in the options
  CheckResult hash = CheckResult::unchecked;
  std::string detail;
};

// One for every table of the receipt. Throws Error(bad_option) for a file in the options
// that the repair did not use.
[[nodiscard]] std::vector<FoundFile> find_files(const Receipt& receipt,
                                                const VerifyOptions& options);
[[nodiscard]] const FoundFile* find_role(const std::vector<FoundFile>& files,
                                         const std::string& role);

}  // namespace fmd::internal
