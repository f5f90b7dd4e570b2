#pragma once

#include <string>

#include "fmd/core/exec.h"
#include "fmd/data/csv.h"
#include "fmd/metrics/scored.h"
#include "fmd/report/audit_report.h"

// Files of rows that another program scored, and their audit: whole tables, or files of any
// size block by block.
namespace fmd {

struct AuditOptions;
class TableStream;

// Probabilities, answers and labels of rows that another program scored. `scores` has the
// columns that audit_files() reads.
[[nodiscard]] Scored read_scores(const Table& scores, const Task& task);

// Scores made by another program. `scores` has a column p (or score) of the positive class,
// or p_<class> for each class, and the columns of label and attributes. `pairs`, when not
// null, was made by `fmd pairs` and has the same probability columns.
[[nodiscard]] AuditReport audit_files(const Table& scores, const Table* pairs,
                                      const Task& task, const AuditOptions& options,
                                      const Exec& exec);

// A file of scores, or of scored pairs, with only those columns that the audit reads.
// Throws Error(missing_column) for a column that is not there.
[[nodiscard]] TableStream open_scores(const std::string& file, CsvOptions csv,
                                      const Task& task, const AuditOptions& options,
                                      const Exec& exec);
[[nodiscard]] TableStream open_pair_scores(const std::string& file, CsvOptions csv,
                                           const Task& task, const Exec& exec);

// The labels that a file has, each once, for label_classes(): a table with the one column.
[[nodiscard]] Table read_label_values(const std::string& file, CsvOptions csv,
                                      const std::string& label, const Exec& exec);

// Whether pairs that `fmd pairs` made come in order of their rows, attribute by attribute.
// Then they can be read beside the scores. Reads `pairs` once.
[[nodiscard]] bool in_order(TableStream& pairs);

// audit_files() of files of any size, in constant memory and to the same bits. The scores
// are read twice, and once more beside the pairs for each attribute. pairs: null, or a
// stream that is in_order(). Throws what audit_files() throws.
[[nodiscard]] AuditReport audit_file_streams(TableStream& scores, TableStream* pairs,
                                             const Task& task, const AuditOptions& options,
                                             const Exec& exec);

}  // namespace fmd
