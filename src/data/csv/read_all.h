#pragma once

#include "core/internal.h"
#include "data/csv/reader.h"
#include "data/row_source.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// All rows of a reader that is at its start. Throws what reading throws, and Error(bad_csv)
// when there are no rows.
[[nodiscard]] Table read_all(CsvReader& reader, const Exec& exec);

[[nodiscard]] Table read_csv_file(const OpenFile& file, const CsvOptions& options,
                                  const Exec& exec);

}  // namespace fmd::internal
