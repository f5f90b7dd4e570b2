#pragma once

#include <functional>
#include <string_view>

#include "fmd/core/exec.h"
#include "fmd/data/csv.h"
#include "fmd/formats/model_source.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/source.h"

namespace fmd {

// The scores of every row as CSV: row (from 1), predicted, p_<class> of each class. The
// text comes in pieces, in memory that does not grow with the rows. Labels and attributes
// are not needed. Returns the number of rows. Throws what reading and encoding throw.
Index predict(const ModelSource& model, const DataSource& data, const TaskChanges& changes,
              const std::function<void(std::string_view)>& sink, const Exec& exec,
              CsvGuard guard = CsvGuard::none);

}  // namespace fmd
