#pragma once

#include <filesystem>

#include "fmd/core/exec.h"
#include "fmd/pipeline/verify.h"
#include "fmd/report/verify_report.h"

namespace fmd {

// True for the JSON that `fmd audit -o` writes.
[[nodiscard]] bool is_audit(const std::filesystem::path& path);

// Measures again what an audit says, from its own task, seed and options, and compares
// every figure, limit and verdict. The model and the table are those of the options
// (`model`, the first of `data`), otherwise files beside the audit with the recorded names.
// They must have the recorded sha256. Throws Error(cannot_read, bad_model: not an audit;
// bad_option). Cost: that of the audit.
[[nodiscard]] VerifyReport verify_audit(const std::filesystem::path& path,
                                        const VerifyOptions& options, const Exec& exec);

}  // namespace fmd
