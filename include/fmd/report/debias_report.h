#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/data/row_overlap.h"
#include "fmd/metrics/interval.h"
#include "fmd/report/audit_report.h"
#include "fmd/report/dropped_column.h"
#include "fmd/report/ledger_count.h"
#include "fmd/report/proxy_report.h"
#include "fmd/unlearn/candidate.h"

namespace fmd {

// The original, the result or a control. All have the same audit on the same rows.
struct Contender {
  std::string name;                  // "before", "repaired", "tempered" (temperature
                                     // scaled), ...
  std::string title;                 // for people: "column averaged"
  std::optional<AuditReport> audit;  // none: see reason
  std::string reason;
};

struct GroupMove {
  std::string attribute, group;
  Index rows = 0, gained = 0, lost = 0;  // favourable decisions
  double rate_before = kUndefined, rate_after = kUndefined;
};

struct MeasureMove {
  std::string attribute, measure, about;
  Interval before, after, change;  // change: paired
  bool worse = false;              // the rise is beyond its interval
};

struct InputMove {
  std::string feature;
  double before = 0, after = 0;  // weight of the favourable (or last) output
};

// What else moved when the model was repaired.
struct Moved {
  std::vector<GroupMove> groups;
  std::vector<MeasureMove> measures;  // other attributes' gaps, group gaps, worst group
  std::vector<InputMove> inputs;      // largest changes first
};

// How the attribute is used: read by the model before and after, used to choose weights,
// needed at prediction time.
struct AttributeUse {
  std::string attribute;
  bool read_by_model = false, chose_weights = true, needed_at_prediction = false;
};

struct DataNote {
  std::string role, name, sha256;  // role: edit and hold-out, train, test, groups, pairs
  Index rows = 0, overlap = -1;    // rows that equal a training row; -1 = not known
  double by_chance = 0;            // expected number if none was used
  std::optional<std::uint64_t> split_seed;
  std::string key;  // groups: the column that joins
};

// Rows that two tables of a repair have in common.
struct OverlapNote {
  std::string role, other;  // "test" rows that equal one of "train"
  RowOverlap rows;
};

// A file of a model of several files.
struct ModelFileNote {
  std::string name, sha256_before, sha256_after;  // before is empty: the repair added it
};

// What a repair of trees changed in the file.
struct LeafEdit {
  Index changed = 0, leaves = 0;  // leaves whose value is another one; all leaves
  double largest = 0;             // change of a value, as it counts in the margin
  std::vector<Index> trees;       // numbers of the trees they are in
  Index all_trees = 0;
};

// A rule that the answer never falls, or never rises, with an input.
struct MonotoneNote {
  std::string input;
  int direction = 1;                 // 1: it must not fall; -1: not rise
  bool from_file = true;             // stated by the model, otherwise by the user
  bool before = true, after = true;  // every tree keeps it
};

struct DebiasReport {
  std::string model, model_sha256, out, out_sha256;
  // Of a model of several files: all of them, the one that is opened first. Empty: one
  // file.
  std::vector<ModelFileNote> model_files;
  std::vector<DataNote> data;
  std::vector<OverlapNote> overlaps;  // of any two tables of `data`
  std::string options;                // JSON text of the complete options
  Task task;
  std::vector<std::string> repaired;  // attributes
  std::string method, rule;           // rule in words
  std::string measure = "co";
  std::vector<Candidate> candidates;
  int chosen = -1;  // position in candidates; -1: none
  // Cross-fitting: folds of DATA that the figures called hold-out come from. 0: a hold-out.
  Index folds = 0;
  double risk = 0.5, max_accuracy_loss = 0, only_if_over = 0;
  // Of each repaired attribute, where none is over only_if_over: nothing was repaired.
  std::vector<Interval> small_bias;
  bool strict = false;
  Budget budget = Budget::none;     // of the chosen one
  Verdict on_test = Verdict::none;  // the rule on the rows of --test: fail = missed
  Interval on_target = {};          // what a target judges there; of several, the largest
  // Rows of DATA or of the test were used in training, or two of the tables share rows.
  bool optimistic = false;
  // Rows of --test were used in training or stand in another table: no rule is kept on
  // them. Rows of the choice were used before: no budget is proven.
  bool test_seen = false, choice_seen = false;
  // Columns that tell a repaired attribute and are not flipped with it: no rule on flips is
  // kept beside one.
  std::vector<std::string> mirrors_left = {};
  InverseSummary solve;
  // |grad F| / |grad F(0)| on the training rows, where rows were ranked by influence. Above
  // 1e-3 the head is not at an optimum, and the ranking is only a hint.
  double relative_gradient = kUndefined;
  std::string hessian_source;  // "train" | "edit" | "edit pairs" | "none"
  std::string solve_status;
  Index edit_rows = 0, holdout_rows = 0, pairs = 0;
  // Before, repaired, controls; test is empty without --test.
  std::vector<Contender> holdout, test;
  // Per repaired attribute. solve and path: with the pairs' slopes of the original model at
  // the chosen lambda. step, remove, replace: to first order, grad B . (theta_new - theta).
  // Undefined for solve of more than two classes and for average-column.
  std::vector<Predicted> predicted_holdout, predicted_test;
  Interval accuracy_change;            // paired, on the rows that figures() reports
  std::vector<DroppedColumn> dropped;  // the controls that drop the repaired columns
  Moved moved;
  std::vector<AttributeUse> attribute_use;
  std::vector<ProxyReport> proxies;     // of the repaired attributes, on DATA
  std::vector<std::string> notes = {};  // what was left out, counted or taken for something
  std::string blas_kernel;
  std::uint64_t seed = 0;
  std::optional<LeafEdit> leaves;           // models of trees
  std::vector<MonotoneNote> monotone = {};  // rules of trees
  std::optional<LedgerCount> ledger = {};   // none: no ledger was named

  // The test's contenders, or the hold-out's where there is no test.
  [[nodiscard]] const std::vector<Contender>& figures() const {
    return test.empty() ? holdout : test;
  }
};

struct RunNote {
  std::string date;  // UTC, ISO 8601
  double seconds = 0, cpu_seconds = 0;
};

// OUT.receipt.json: no persons' rows, no weights. Times are only in `run`. Schema 2: with
// folds, risk, budget and overlaps; the `model` of several files also lists `files`.
[[nodiscard]] std::string receipt_json(const DebiasReport& report, const RunNote& run);
// OUT.path.json, schema 2: every candidate with the figures of the choice, and the
// settings again, which `fmd verify` compares with those of the receipt. The parameters
// are in OUT.path.safetensors: theta [candidates, parameters], and lambda, s and K
// [candidates, 1].
[[nodiscard]] std::string path_json(const DebiasReport& report);
// The debias command's screen.
[[nodiscard]] Sheet sheet_of(const DebiasReport& report);
// Only the table before | repaired | controls, for the demo.
[[nodiscard]] SheetSection repair_table(const DebiasReport& report);
// "What this does not say", from the figures.
[[nodiscard]] std::string caveats(const DebiasReport& report);

}  // namespace fmd
