#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/fields.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/audit.h"
#include "fmd/repair/repair_options.h"
#include "fmd/report/ledger_count.h"

namespace fmd {

// Where a repaired model file and what belongs to it are written: see DebiasFiles.
struct SaveOptions {
  std::filesystem::path out;               // empty = nothing is written
  bool force = false;                      // replace an OUT that exists
  std::string date = {};                   // of the run, for the receipt
  ModelFormats formats = model_formats();  // to read OUT again
  std::optional<LedgerCount> ledger = {};  // for the receipt
};

struct DebiasOptions : RepairOptions {
  Index layers = 1;  // of a network: the top layers that are changed; those below are held
  std::vector<std::string> repair;  // attributes; empty = all of the task that are read
  // Folds of DATA for cross-fitting. 0: a hold-out is split off instead, by holdout_share.
  // Without effect where a hold-out is given.
  Index folds = 5;
  double holdout_share = 0.2;
  // Trees: "age=+1" for an input with which the answer must not fall, -1: not rise; beside
  // the rules that the file states. allow_nonmonotone: candidates may break them.
  std::vector<std::string> monotone = {};
  bool allow_nonmonotone = false;
  AuditOptions
      audit;  // how figures are measured; its task and previous audits are not used
  // Of the model's task. Attributes that its flags name are those to repair; the task's
  // others are measured too.
  TaskChanges task = {};
  // Rows to choose on in place of a share of DATA; the training rows: for the curvature,
  // for remove and replace, and for a control; rows that are only reported on.
  std::optional<DataSource> holdout = {}, train = {}, test = {};
  SaveOptions save = {};
};

// Every field that a receipt records, in its order. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(DebiasOptions& options);

// All options as JSON text, in the form that receipts hold, and back: a run can be repeated
// from them. parse_options throws Error(bad_model) that names the source and the key, and
// Error(bad_option) for a name that does not exist.
[[nodiscard]] std::string options_json(const DebiasOptions& options, std::uint64_t seed);
struct ParsedOptions {
  DebiasOptions options;
  std::uint64_t seed = 1;
};
[[nodiscard]] ParsedOptions parse_options(const std::string& json,
                                          const std::string& source);

}  // namespace fmd
