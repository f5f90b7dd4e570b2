#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/model/head_problem.h"
#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/study.h"

namespace fmd::internal {

// A table whose rows all have a label. Throws Error(bad_value) that names the first row
// without one.
[[nodiscard]] Study labelled_study(const Model& model, Table table,
                                   const std::string& sha256, const Exec& exec);

// The tables of a repair as they are read.
struct RepairTables {
  Table data;
  std::string data_sha256;
  std::optional<Table> holdout, train, test;
  std::string holdout_sha256, train_sha256, test_sha256;

  // Rows that the Hessian is made of.
  [[nodiscard]] Index rows() const { return train ? train->rows() : data.rows(); }
};
[[nodiscard]] RepairTables read_repair(const Model& model, const DataSource& data,
                                       const DebiasOptions& options, const Exec& exec);

// Some rows of a study with the pairs of the repaired attributes: edit part or hold-out.
struct StudyPart {
  const Study* study = nullptr;
  std::vector<Index> rows;
  std::vector<StudyPairs> pairs;  // one per repaired attribute; none: they have no pairs

  [[nodiscard]] HeadPart view() const;
};

// What repair works on, from tables: the head of a model, rows as its features. repaired:
// positions in the task's attributes. holdout and train may be null. All of them must
// outlive the result.
[[nodiscard]] HeadProblem head_problem(const Model& model, const StudyPart& edit,
                                       const StudyPart* holdout, const Study* train,
                                       const std::vector<std::size_t>& repaired);

// The rows of a repair as the model sees them: the edit part and the hold-out with their
// pairs, and the training and test rows where they are given. Parts point into the studies,
// so this must not be moved.
struct RepairParts {
  RepairParts(const Model& model, RepairTables tables, const DebiasOptions& options,
              const Exec& exec);
  RepairParts(const RepairParts&) = delete;
  RepairParts& operator=(const RepairParts&) = delete;

  Study data;
  std::optional<Study> own_holdout, train, test;
  std::vector<std::size_t> repaired;  // positions in data.attributes
  StudyPart edit, holdout;
  HeadProblem problem;

  // The hold-out as a study. A part of DATA is audited alone, and becomes `own`.
  [[nodiscard]] const Study& holdout_study(const Model& model, const Exec& exec,
                                           std::optional<Study>& own) const;
  // What the receipt says about every file.
  [[nodiscard]] std::vector<DataNote> notes(const Task& task, const GroupsFile& groups,
                                            const Exec& exec) const;
  // Every table with every other one. Empty where rows cannot be told apart.
  [[nodiscard]] std::vector<OverlapNote> overlaps(const Model& model) const;
  // Rows of --test were used in training or stand in another table; rows that the choice is
  // made on were used in training, or a hold-out shares rows with DATA.
  [[nodiscard]] bool test_seen(const std::vector<OverlapNote>& overlaps) const;
  [[nodiscard]] bool choice_seen(const std::vector<OverlapNote>& overlaps) const;
  // Rows that figures come from were used before: in training, or in another table.
  [[nodiscard]] bool optimistic(const std::vector<OverlapNote>& overlaps) const;
};

}  // namespace fmd::internal
