#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/fields.h"
#include "fmd/data/table.h"
#include "fmd/data/task.h"
#include "fmd/model/model.h"
#include "fmd/report/compare_report.h"

namespace fmd {

// Every method on the same table. All have the same rows to train and edit on, choose by
// the same rule on the same hold-out, and are reported on the same test rows. Nothing is
// chosen on the test rows.

struct CompareOptions {
  std::vector<std::string> methods = {};  // see compare_methods(); empty = all that apply
  std::string attribute = "";             // empty = the task's first one
  // What the rule minimises: co, flip_rate, demographic_parity, equal_opportunity or
  // equalized_odds. Empty = co where the model reads the attribute, otherwise
  // equalized_odds.
  std::string measure = "";
  double max_accuracy_loss = 0.01;  // on the hold-out, against the model before any repair
  // Shares of the rows. Empty = train=.4,edit=.15,holdout=.15,test=.3. With a model, which
  // was trained on other rows: edit=.25,holdout=.25,test=.5.
  std::string parts = "";
  double confidence = 0.95;
  Index replicates = 1000;
};

// Every field. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(CompareOptions& options);

// Scores of a method that is not ours. Column row = number of the row in DATA, from 1; or
// as many rows as DATA has, in its order. p or p_<class> as `fmd predict` writes them.
struct OutsideScores {
  std::string name;
  Table scores;
  // Scores of the rows that `fmd pairs DATA --flip A` made, with its columns fmd_row and
  // fmd_to. None: the flip gap is not known.
  std::optional<Table> pairs = {};
};

struct CompareInput {
  Table data;
  std::string data_sha256;
  std::optional<Model> model;  // none: a logistic regression is trained on the train part
  std::string model_name, model_sha256;
  std::optional<Table> train;  // the rows that the model was trained on
  Task task;                   // the model's, or the one to train for; classes known
  std::vector<OutsideScores> outside;
};

// Names of all methods, in the order of the report: controls, those of fmd debias, rivals.
[[nodiscard]] std::vector<std::string> compare_methods();

// Which part each row is in: "train", "edit", "holdout" or "test"; "" = none.
[[nodiscard]] std::vector<std::string> compare_parts(const CompareInput& input,
                                                     const CompareOptions& options,
                                                     std::uint64_t seed);

// Throws Error(bad_option: no such method, measure, attribute or part; unsupported: a
// method that was asked for does not apply; bad_data: a part has too few rows, or scores
// lack a row), and what reading, encoding and training throw.
[[nodiscard]] CompareReport compare(const CompareInput& input,
                                    const CompareOptions& options, const Exec& exec);

}  // namespace fmd
