#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/file.h"
#include "fmd/data/task.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/audit.h"
#include "fmd/report/debias_report.h"

namespace fmd {

// "demographic_parity:sex=10": a soft group gap with its weight gamma in solve's objective.
struct DebiasOptions {
  std::string method = "solve";           // solve | average-column
  std::vector<std::string> repair;        // attributes; empty = all of the task that are read
  std::optional<Limit> target;            // most accurate candidate that passes this
  double max_accuracy_loss = 0.01;        // without a target: least bias within this budget
  std::optional<double> at_lambda;        // take this lambda: no choice is made
  bool best_effort = false;               // no candidate: take the least biased one
  bool keep_rate = false;                 // shift the intercept so that the favourable rate stays
  double holdout_share = 0.2;
  Index points = 50;                      // candidates on the path
  double anchor = 1, fit = 0;
  double mu = -1;                         // -1 = the model's l2
  std::vector<Limit> gaps;                // value = gamma; measures *_soft
  AuditOptions audit;
};

struct DebiasInput {
  Model model;
  std::string model_name;
  Table data;
  std::string data_sha256;
  std::optional<Table> holdout, train, test;
  std::string holdout_sha256, train_sha256, test_sha256;
};

struct DebiasOutcome {
  Model model;            // repaired; the original when nothing was chosen
  DebiasReport report;    // report.chosen = -1: no candidate
};

// Removes the bias of the chosen attributes from the head; see METHOD in docs/debias.md. Nothing is
// written. Figures are measured on model(theta) in memory; see finish_debias().
[[nodiscard]] DebiasOutcome debias(const DebiasInput& input, const DebiasOptions& options,
                                   const Exec& exec);

[[nodiscard]] std::string options_json(const DebiasOptions& options, std::uint64_t seed);

// Files that a debias run leaves beside OUT.
struct DebiasFiles {
  std::filesystem::path out, receipt, undo, path, path_tensors;
  explicit DebiasFiles(const std::filesystem::path& out);
};

// The receipt beside OUT -> the original model's bytes. Throws Error(bad_model, wrong_model,
// cannot_read).
[[nodiscard]] Bytes undo_bytes(const std::filesystem::path& receipt);

}  // namespace fmd
