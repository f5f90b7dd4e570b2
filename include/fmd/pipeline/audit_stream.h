#pragma once

#include "fmd/data/table_stream.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/study_stream.h"

namespace fmd {

// Whether the task can be audited block by block: given and matched pairs join rows that
// may stand anywhere.
[[nodiscard]] bool streams(const Task& task);

// audit_model() of rows of any number, in constant memory; the same figures to the bit, but
// for the intervals of means and flip gaps of more than 200,000 rows (see Tally).
[[nodiscard]] AuditReport audit_stream(const Model& model, StudyStream& stream,
                                       const AuditOptions& options, const Exec& exec);

// A file of scores, or of scored pairs, with the columns alone that the audit reads. Throws
// Error(missing_column) for one that is not there.
[[nodiscard]] TableStream open_scores(const std::string& file, CsvOptions csv,
                                      const Task& task, const AuditOptions& options,
                                      const Exec& exec);
[[nodiscard]] TableStream open_pair_scores(const std::string& file, CsvOptions csv,
                                           const Task& task, const Exec& exec);

// The labels that a file has, each once, for label_classes(): a table with the one column.
[[nodiscard]] Table read_label_values(const std::string& file, CsvOptions csv,
                                      const std::string& label, const Exec& exec);

// Whether pairs that `fmd pairs` made come in order of their rows, attribute by attribute,
// so that they can be read beside the scores. Reads `pairs` once.
[[nodiscard]] bool in_order(TableStream& pairs);

// audit_files() of files of any size, in constant memory and to the same bits. The scores
// are read twice, and once more beside the pairs for each attribute. pairs: null, or
// in_order(). Throws what audit_files() throws.
[[nodiscard]] AuditReport audit_file_streams(TableStream& scores, TableStream* pairs,
                                             const Task& task, const AuditOptions& options,
                                             const Exec& exec);

}  // namespace fmd
