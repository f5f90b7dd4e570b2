#pragma once

#include <string>
#include <vector>

#include "fmd/data/csv.h"
#include "fmd/pipeline/study.h"

namespace fmd {

// What make_study() and StudyStream share.

// Kinds of the columns that the model and the task know.
[[nodiscard]] CsvOptions table_options(const Model& model, const Task& task);
// Throws Error(unsupported) for a file of features, where a table is needed.
void refuse_features(const std::string& name);
// Every column that carries an attribute of the task.
[[nodiscard]] std::vector<std::string> attribute_columns(const Task& task);
// Throws Error(missing_column) when labels are needed and there is no such column.
[[nodiscard]] bool has_labels(const Table& table, const Task& task, bool needed);
// The share of training rows (sorted hashes) that have an equal one among the others.
[[nodiscard]] double twin_share(const std::vector<std::uint64_t>& hashes);

// A study of these rows; the attributes are known already, their codes are read here.
[[nodiscard]] Study study_of(const Model& model, Table table, const Task& task,
                             bool need_labels, const std::vector<Attribute>& attributes,
                             const Exec& exec);

// Whether the head's inputs are the encoder's features: not so above frozen layers.
[[nodiscard]] inline bool head_on_columns(const Model& model) {
  return dynamic_cast<const TableBackbone*>(model.backbone.get()) != nullptr;
}

}  // namespace fmd
