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

struct DebiasOptions {
  std::string method = "solve";           // solve | path (solve's quadratic form: faster for
                                          // large heads) | average-column
  std::vector<std::string> repair;        // attributes; empty = all of the task that are read
  std::optional<Limit> target;            // most accurate candidate that passes this
  double max_accuracy_loss = 0.01;        // without a target: least bias within this budget
  std::optional<double> at_lambda;        // take this lambda: no choice is made
  bool best_effort = false;               // no candidate: take the least biased one
  bool keep_rate = false;                 // shift the intercept so that the favourable rate stays
  double holdout_share = 0.2;
  Index points = 30;                      // candidates along the path
  double anchor = 1, fit = 0;
  double mu = -1;                         // -1 = the model's l2
  std::vector<Limit> gaps;                // "demographic_parity_soft:sex=10": gamma of a soft group
                                          // gap in solve's objective
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

// A repair: candidates made on the edit part, one chosen on the hold-out. Nothing is written and
// the input is not changed; the numbers of the report are measured by measure().
class DebiasRun {
 public:
  // Throws Error(attribute_not_read), Error(bad_data) (too few rows for a hold-out, one class only),
  // Error(bad_option), and what reading and encoding throw.
  DebiasRun(DebiasInput input, DebiasOptions options, const Exec& exec);
  ~DebiasRun();
  DebiasRun(const DebiasRun&) = delete;
  DebiasRun& operator=(const DebiasRun&) = delete;

  [[nodiscard]] bool found() const;         // a candidate met the rule
  [[nodiscard]] const Model& model() const; // the chosen one; the original when none was found
  [[nodiscard]] const std::vector<PathPoint>& points() const;

  // Figures of `repaired` (the file as it was read back) beside the original and the controls.
  [[nodiscard]] DebiasReport measure(const Model& repaired) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string options_json(const DebiasOptions& options, std::uint64_t seed);

// Files that a repair leaves.
struct DebiasFiles {
  std::filesystem::path out, receipt, undo, path, path_tensors;
  explicit DebiasFiles(const std::filesystem::path& out);
};

struct SaveOptions {
  bool force = false;     // replace an OUT that exists
  RunNote run;            // date and start; seconds are filled in
};

// Writes path, undo, receipt and, last, OUT; the receipt's figures are measured on the re-read OUT.
// original: the model file's bytes. Either all files are there afterwards or none has changed.
DebiasReport save_debias(const DebiasRun& run, std::span<const std::uint8_t> original,
                         const std::filesystem::path& out, const SaveOptions& options);

// From a receipt, with OUT and OUT.undo beside it, the original model's bytes. Throws
// Error(bad_model, wrong_model, cannot_read).
[[nodiscard]] Bytes undo_bytes(const std::filesystem::path& receipt);

}  // namespace fmd
