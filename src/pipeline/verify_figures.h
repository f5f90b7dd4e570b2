#pragma once

#include <optional>
#include <vector>

#include "pipeline/receipt_files.h"

namespace fmd::internal {

// Repeats the repair and measures the receipt's figures again, as far as the files are
// there. Adds a check for each. before and after: the original and OUT; none where they
// could not be read.
void verify_figures(const Receipt& receipt, const std::vector<FoundFile>& files,
                    std::optional<Model> before, std::optional<Model> after,
                    const VerifyOptions& options, const Exec& exec, VerifyReport& report);

}  // namespace fmd::internal
