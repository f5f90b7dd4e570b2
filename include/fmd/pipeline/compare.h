#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/fields.h"
#include "fmd/data/limit.h"
#include "fmd/formats/model_source.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/source.h"
#include "fmd/report/compare_report.h"

namespace fmd {

// Every method on the same table. All have the same rows to train and edit on, choose by
// the same rule on the same hold-out, and are reported on the same test rows. Nothing is
// chosen on the test rows.

// Scores of a method that is not ours. Column row = number of the row in DATA, from 1; or
// as many rows as DATA has, in its order. p or p_<class> as `fmd predict` writes them.
struct OutsideScores {
  std::string name;
  DataSource scores;
  // Scores of the rows that `fmd pairs DATA --flip A` made, with its columns fmd_row and
  // fmd_to. None: the flip gap is not known.
  std::optional<DataSource> pairs = {};
};

struct CompareOptions {
  // See compare_methods(). Empty = all that apply, apart from those that train networks.
  std::vector<std::string> methods = {};
  std::string attribute = "";  // empty = the task's first one
  // What the rule minimises: co, flip_rate, demographic_parity, equal_opportunity or
  // equalized_odds. Empty = co where the model reads the attribute, otherwise
  // equalized_odds.
  std::string measure = "";
  // In place of the budget: every method takes its most accurate setting whose measure is
  // within this on the hold-out. It names the measure; a gap between groups also sets what
  // `solve` aims at.
  std::optional<Limit> target = {};
  double max_accuracy_loss = 0.01;  // on the hold-out, against the model before any repair
  // Shares of the rows. Empty = train=.4,edit=.15,holdout=.15,test=.3. With a model, which
  // was trained on other rows: edit=.25,holdout=.25,test=.5.
  std::string parts = "";
  double confidence = 0.95;
  Index replicates = 1000;
  TaskChanges task = {};  // of the model's task; an attribute that its flags name is meant
  std::optional<DataSource> train = {};  // the rows that the model was trained on
  std::vector<OutsideScores> outside = {};
  // Folder where methods that train networks leave their state; empty: none is kept.
  std::filesystem::path checkpoints = {};
};

// Every field that a flag sets. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(CompareOptions& options);

// Names of all methods, in the order of the report: controls, those of fmd debias, rivals.
[[nodiscard]] std::vector<std::string> compare_methods();

// Repairs of `model` on parts of `data`. Throws Error(bad_option: no such method, measure,
// attribute or part; unsupported: a method that was asked for does not apply; bad_data: a
// part has too few rows, or scores lack a row), and what reading and encoding throw.
[[nodiscard]] CompareReport compare(const ModelSource& model, const DataSource& data,
                                    const CompareOptions& options, const Exec& exec);
// The same for a logistic regression that is trained on a part of `data`.
[[nodiscard]] CompareReport compare(const DataSource& data, const CompareOptions& options,
                                    const Exec& exec);

}  // namespace fmd
