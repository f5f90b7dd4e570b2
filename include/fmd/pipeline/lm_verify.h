#pragma once

#include <filesystem>

#include "fmd/core/exec.h"
#include "fmd/pipeline/verify.h"

namespace fmd {

// Is this the receipt of lm_debias()? Throws Error(cannot_read, bad_model).
[[nodiscard]] bool is_lm_receipt(const std::filesystem::path& receipt);

// Checks OUT, undo and data by their checksums. With options.model (the original folder)
// the edit is made again: the new head must be the one in OUT, bit by bit, and every figure
// the one in the receipt. Data files are looked for beside the receipt by their names, and
// among options.data by their checksums. Throws what verify() throws.
[[nodiscard]] VerifyReport lm_verify(const std::filesystem::path& receipt,
                                     const VerifyOptions& options, const Exec& exec);

}  // namespace fmd
