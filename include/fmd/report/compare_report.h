#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/data/columns.h"
#include "fmd/data/task.h"
#include "fmd/metrics/interval.h"
#include "fmd/report/debias_report.h"
#include "fmd/report/dropped_column.h"

namespace fmd {

// What a method reached on some rows. Expected figures where it decides at random.
struct CompareFigures {
  Index rows = 0;
  Interval accuracy, accuracy_change;  // change: paired with the model before any repair
  Interval co, flip_rate;              // undefined: see flip_reason
  Interval demographic_parity, equal_opportunity, equalized_odds;  // see group_reason
  Interval worst_group;  // accuracy of the least accurate group that is large enough
  std::string worst_group_name;
  std::string flip_reason;   // "not_an_input" | "ranges_of_a_number" | "no_pair_scores"
  std::string group_reason;  // "fewer than two groups have >= 100 rows", ...
};

struct ComparedMethod {
  std::string name, title;
  std::string kind;    // "control" | "fmd" | "rival" | "outside"
  std::string source;  // who published it
  std::string needs;   // what it needs when it answers
  bool decisions_only = false;
  std::string reason;         // why it was not used; empty: it was used
  std::string setting;        // the chosen one; empty: there is only one
  Index candidates = 0;       // settings that were tried
  bool within_budget = true;  // the chosen one meets the rule on the hold-out
  CompareFigures holdout;     // only values, which the choice was made on
  CompareFigures test;
  double seconds = 0, cpu_seconds = 0;  // to fit all candidates
  double answer_cpu_seconds = 0;        // to answer the test rows once
};

struct ComparePart {
  std::string name;
  Index rows = 0;
};

struct CompareReport {
  std::string data, data_sha256, model, model_sha256;  // model empty: trained here
  Task task;
  std::string attribute;
  std::vector<std::string> values;
  bool reads = false;                   // the model reads the attribute
  bool optimistic = false;              // rows of DATA were used in training
  std::vector<std::string> notes = {};  // what was left out, counted or taken for something
  std::string measure, rule;
  double max_accuracy_loss = 0;
  double confidence = 0.95;
  Index replicates = 0;
  std::vector<ComparePart> parts;
  // Of every row of DATA: "train", "edit", "holdout" or "test"; "" = none.
  std::vector<std::string> part_of_row;
  ColumnsReport columns;  // of DATA, where a model was trained on it
  std::vector<ComparedMethod> methods;
  // The controls that drop the column, beside `best`: the method of fmd or a rival that the
  // rule takes on the hold-out, among those that do not need the attribute to answer.
  std::vector<DroppedColumn> dropped;
  std::string best;
  std::uint64_t seed = 0;
};

// compare.json, schema 1. Times are only in `run`.
[[nodiscard]] std::string compare_json(const CompareReport& report, const RunNote& run);
// One table for a terminal, 80 columns.
[[nodiscard]] Sheet sheet_of(const CompareReport& report);

}  // namespace fmd
