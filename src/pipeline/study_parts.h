#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/data/csv.h"
#include "fmd/formats/model_source.h"
#include "fmd/pipeline/study.h"

namespace fmd::internal {

// What make_study(), StudyStream and audits of score files share.

// How to read the columns that the model and the task know.
[[nodiscard]] CsvOptions table_options(const Model& model, const Task& task);
// Throws Error(unsupported) for a file of features.
void refuse_features(const std::string& name);
// Every column that carries an attribute of the task.
[[nodiscard]] std::vector<std::string> attribute_columns(const Task& task);
// Throws Error(bad_option) when the task names no column of weights.
void require_weight(const Task& task);
// The task's weights for an audit. Throws Error(bad_option) when it names no column.
[[nodiscard]] std::vector<float> audit_weights(const Table& table, const Task& task);
// Throws Error(missing_column) when labels are needed and there is no such column.
[[nodiscard]] bool has_labels(const Table& table, const Task& task, bool needed);
// Throws Error(bad_value) that names the first row without a label; the hint says why
// labels are needed.
void require_labels(const Study& study, const std::string& hint);
// A part with fewer rows is refused: no choice and no figure would mean anything.
inline constexpr Index kFewestRows = 20;
// The share of training rows (sorted hashes) that equal another training row.
[[nodiscard]] double twin_share(const std::vector<std::uint64_t>& hashes);
// Of the rows' inputs and labels, sorted, to compare tables with each other. Empty where
// columns do not tell rows apart: without labels, without columns, with tensors.
[[nodiscard]] std::vector<std::uint64_t> fingerprints(const Model& model,
                                                      const Study& study);
// row_hashes() of the study's table, made once for the columns of its model.
[[nodiscard]] std::vector<std::uint64_t> study_hashes(
    const Study& study, const std::vector<std::string>& columns);

// A study of these rows. The attributes are known already; their codes are read here.
[[nodiscard]] Study study_of(const Model& model, Table table, const Task& task,
                             bool need_labels, const std::vector<Attribute>& attributes,
                             const Exec& exec);

// Flipped features of all rows of a study.
class Flips {
 public:
  Flips() = default;
  // Per attribute, as a file of features has them, or null. Nothing more is kept then.
  explicit Flips(std::vector<std::unique_ptr<Features>> stored)
      : stored_(std::move(stored)) {}
  [[nodiscard]] const Features* stored(Index attribute) const;  // null: none

  // What make_flip_pairs() made. Models whose backbones have one hash share it: a repaired
  // model that was read back does not run again what the original ran.
  [[nodiscard]] std::shared_ptr<const StudyPairs> made(const Model& model,
                                                       std::size_t attribute);
  // Nothing where the features take more than 1 GB.
  void keep(const Model& model, const StudyPairs& pairs);

 private:
  struct Made {
    std::shared_ptr<const Backbone> backbone;  // held: no other can take its address
    std::shared_ptr<const StudyPairs> pairs;
  };
  std::vector<std::unique_ptr<Features>> stored_;
  std::mutex mutex_;
  std::vector<Made> made_;
};

// The study's rows with the attribute changed, through the backbone.
[[nodiscard]] std::unique_ptr<Features> flipped_features(const Model& model,
                                                         const Study& study,
                                                         const Attribute& attribute,
                                                         const PairPlan& plan,
                                                         const Exec& exec);

// The flips of all rows, of so many rows at a time: no more of them are in memory.
inline constexpr Index kFlippedRows = 4 * kBlockRows;
void for_each_flips(const Model& model, const Study& study, std::size_t attribute,
                    const Exec& exec, const std::function<void(const StudyPairs&)>& use);

// score_pairs() of models with one backbone, one after the other: use(k, those of
// models[k]).
void score_pairs_of_each(std::span<const Model* const> models, const Study& study,
                         const StudyPairs& pairs, const Exec& exec,
                         const std::function<void(std::size_t, const PairScores&)>& use);

// Whether an answer depends on the attribute; not known for scores of another program.
[[nodiscard]] Reads reads_of(const Model& model, const Attribute& attribute);

// Of a file; empty for a model that is in memory only.
struct ModelName {
  std::string path, name, sha256;  // name: without its folder
};
[[nodiscard]] ModelName name_of(const ModelSource& source);

// Whether the head's inputs belong to columns. They do not above frozen layers.
[[nodiscard]] inline bool head_on_columns(const Model& model) {
  return model.backbone->columns() != nullptr;
}

// The attribute with the values marked that the model does not know. What is worth saying
// about it is said.
[[nodiscard]] Attribute known_to(const Model& model, Attribute attribute, const Exec& exec);

// Says how many cells have categories that training has not seen.
void note_unseen(const std::string& source, const std::map<std::string, Index>& cells,
                 const Exec& exec);

}  // namespace fmd::internal
