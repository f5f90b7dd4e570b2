#pragma once

#include <filesystem>
#include <optional>

#include "core/internal.h"
#include "curvature/cholesky.h"
#include "fmd/core/exec.h"
#include "fmd/core/hash.h"
#include "fmd/core/types.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// The hash of everything that a factor depends on: features and weights of the rows, in
// their order, theta, and a text that names the rest (solver, options).
[[nodiscard]] Hash factor_key(const Rows& rows, const Vector& theta,
                              const std::string& rest, const Exec& exec);

// One file per key in a folder. A file that is absent, damaged, or of another layout is not
// found. It is not an error when a file cannot be written: the next run only takes longer.
[[nodiscard]] std::optional<Factor> find_factor(const std::filesystem::path& folder,
                                                const Hash& key);
void keep_factor(const std::filesystem::path& folder, const Hash& key,
                 const Factor& factor);

}  // namespace fmd::internal
