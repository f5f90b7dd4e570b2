#pragma once

#include <filesystem>
#include <string>

#include "core/internal.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// A column of tensors in an .npy file: f4, f8, i4, i8 or u1 in row order, the first
// dimension is the row. The file stays mapped. rows: of the table. Throws
// Error(cannot_read), Error(bad_data) for a damaged file or another number of rows,
// Error(unsupported).
[[nodiscard]] TensorColumn npy_tensor(const std::filesystem::path& path,
                                      const std::string& name, Index rows);

}  // namespace fmd::internal
