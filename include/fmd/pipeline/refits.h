#pragma once

#include "fmd/core/exec.h"
#include "fmd/formats/model_source.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/source.h"
#include "fmd/report/refit_report.h"

// Intervals of an audit say how its figures vary with the rows that are measured. A refit
// says how they vary with the rows of the training.
namespace fmd {

struct AuditRefitOptions {
  Index refits = 20;
  AuditOptions audit = {};  // the same as of the audit
};

// Trains the model again on `refits` samples of its training rows, drawn with replacement,
// and measures each on the same rows of `data`: accuracy, flip gaps, and the widest gaps of
// groups. For logistic and softmax regressions of fmd train. Throws
// Error(unsupported) for other models, and Error(wrong_model) where `train` does not give
// the model again.
[[nodiscard]] RefitReport refits(const ModelSource& source, const DataSource& train,
                                 const DataSource& data, const AuditRefitOptions& options,
                                 const Exec& exec);

}  // namespace fmd
