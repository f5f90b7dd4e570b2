#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/core/file.h"
#include "fmd/model/features.h"

namespace fmd::internal {

// Where the features of some rows are in a file. Offsets are in bytes.
struct StoredRows {
  std::shared_ptr<const InputFile> file;
  Index rows = 0, cols = 0;
  Index x = 0;       // dense: rows x cols float32
  Index places = 0;  // sparse: entries of each row; columns ascending, then -1
  Index column = 0;  // rows x places int32
  Index value = -1;  // rows x places float32; -1 = ones
};

// Features that stay in the file: a block is read when it is asked for, into the caller's
// scratch. So memory does not grow with the file, and a file that changes while it is in
// use is an Error(cannot_read). Columns are checked when they are read: a wrong one throws
// Error(bad_model) that names the file.
[[nodiscard]] std::unique_ptr<Features> make_stored_dense(StoredRows rows);
[[nodiscard]] std::unique_ptr<Features> make_stored_sparse(StoredRows rows);

}  // namespace fmd::internal
