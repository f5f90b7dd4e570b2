#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/file.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/data/task.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/audit.h"
#include "fmd/report/debias_report.h"

namespace fmd {

// Names the candidate that is taken: "lambda=10" for solve and path, "s=.001" for step,
// "s=.001,K=100" for remove and replace, "gamma=10,mu=.001" for solve on matched pairs.
struct CandidateAt {
  std::optional<double> lambda, s, gamma, mu;
  std::optional<Index> rows;  // K

  [[nodiscard]] bool any() const { return lambda || s || rows || gamma || mu; }
};
[[nodiscard]] CandidateAt parse_at(const std::string& text);  // Error(bad_option)
[[nodiscard]] std::string to_string(const CandidateAt& at);

// Of the methods step, remove and replace: theta + s H^-1 (sum_out grad L - sum_in grad L).
struct NewtonOptions {
  // s: "auto" (chosen on the hold-out, over powers of 2 from 1/(16 n) or a little less up
  // to 1), "as-printed" (1), "removal" (1/n, n = rows in the Hessian's data) or a number.
  std::string scale = "auto";
  Index rows = 0;   // K of remove and replace; 0 = chosen on the hold-out: 10, 30, 100, ...
                    // up to a tenth of the training rows
  int refresh = 1;  // this many steps of s / refresh, H and gradients anew before each
  Solver solver = Solver::automatic;  // for H from training rows
};
// s of a scale other than "auto". Throws Error(bad_option).
[[nodiscard]] double scale_factor(const std::string& scale, double n);

struct DebiasOptions {
  std::string method = "solve";  // solve | path (solve's quadratic form: faster for
                                 // large heads) | step | remove | replace |
                                 // average-column
  Index layers = 1;  // of a network: the top layers that are changed; those below are held
  // solve on two or more layers: "lm" (Levenberg-Marquardt), "adam" (minibatches) or "auto"
  std::string optimizer = "auto";
  std::vector<std::string> repair;  // attributes; empty = all of the task that are read
  std::optional<Limit> target;      // most accurate candidate that passes this
  double max_accuracy_loss = 0.01;  // without a target: least bias within this budget
  CandidateAt at;                   // take this candidate: no choice is made
  bool best_effort = false;         // no candidate: take the least biased one
  bool keep_rate = false;           // shift the intercept so that the favourable rate stays
  double holdout_share = 0.2;
  std::string hessian;  // H from "train" or "data" (the edit part; for step, remove and
                        // replace both sides of its pairs); empty = train where given
  Index points = 30;    // candidates along the path
  double anchor = 1, fit = 0;
  double mu = -1;           // -1 = the model's l2
  std::vector<Limit> gaps;  // "demographic_parity_soft:sex=10": gamma of a soft group
                            // gap in solve's objective
  NewtonOptions newton;
  AuditOptions audit;
};

// The attributes' second file, joined to every table: what a receipt says of it.
struct GroupsNote {
  std::string name, sha256, key;
};

struct DebiasInput {
  Model model;
  std::string model_name;
  Table data;
  std::string data_sha256;
  std::optional<Table> holdout, train, test;
  std::string holdout_sha256, train_sha256, test_sha256;
  std::optional<GroupsNote> groups = {};
};

// A repair: candidates made on the edit part, one chosen on the hold-out. Nothing is
// written and the input is not changed; the numbers of the report are measured by
// measure().
class DebiasRun {
 public:
  // Throws Error(attribute_not_read), Error(bad_data) (too few rows for a hold-out, one
  // class only), Error(bad_option) (also: remove or replace without training rows), and
  // what reading and encoding throw.
  DebiasRun(DebiasInput input, DebiasOptions options, const Exec& exec);
  ~DebiasRun();
  DebiasRun(const DebiasRun&) = delete;
  DebiasRun& operator=(const DebiasRun&) = delete;

  [[nodiscard]] bool found() const;  // a candidate met the rule
  [[nodiscard]] const Model& model()
      const;  // the chosen one; the original when none was found
  [[nodiscard]] const std::vector<Candidate>& points() const;

  // Figures of `repaired` (the file as it was read back) beside the original and the
  // controls.
  [[nodiscard]] DebiasReport measure(const Model& repaired) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All options as JSON text, as receipts hold them, and back: a run can be repeated from
// them. parse_options throws Error(bad_model) that names the source and the key.
[[nodiscard]] std::string options_json(const DebiasOptions& options, std::uint64_t seed);
struct ParsedOptions {
  DebiasOptions options;
  std::uint64_t seed = 1;
};
[[nodiscard]] ParsedOptions parse_options(const std::string& json,
                                          const std::string& source);

// Files that a repair leaves.
struct DebiasFiles {
  std::filesystem::path out, receipt, undo, path, path_tensors;
  explicit DebiasFiles(const std::filesystem::path& out);
};

struct SaveOptions {
  bool force = false;  // replace an OUT that exists
  RunNote run;         // date and start; seconds are filled in
};

// Writes path, undo, receipt and, last, OUT; the receipt's figures are measured on the
// re-read OUT. original: the model file's bytes. Either all files are there afterwards or
// none has changed.
DebiasReport save_debias(const DebiasRun& run, std::span<const std::uint8_t> original,
                         const std::filesystem::path& out, const SaveOptions& options);

// From a receipt, with OUT and OUT.undo beside it, the original model's bytes. Throws
// Error(bad_model, wrong_model, cannot_read).
[[nodiscard]] Bytes undo_bytes(const std::filesystem::path& receipt);

}  // namespace fmd
