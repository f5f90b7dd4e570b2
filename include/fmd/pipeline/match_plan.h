#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/data/task.h"
#include "fmd/metrics/scored.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/match_report.h"

// Matched pairs of a table: which rows are paired, and what their scores say.
namespace fmd {

// What rows are matched on. X: the model's features. There are none for scores of another
// program: then only overlap of columns is possible.
struct MatchInput {
  const Table* table = nullptr;
  std::span<const std::int32_t> y;  // label of each row; empty: rows of any label match
  const Attribute* attribute = nullptr;
  const AttributeSpec* spec = nullptr;
  const Features* X = nullptr;
  std::vector<Index> own_features;  // of the attribute: left out
  std::vector<std::string>
      columns;           // the model's inputs except the attribute: for balance,
                         // and for overlap where the task names no columns
  Index min_rows = 100;  // values with fewer rows are not matched
};

// Each row with a label and a value gets, for each other value v, the nearest row with the
// same label and the value v. For the floor it also gets the nearest other row with the
// same label and its own value. The nearest of more rows is nearer, so both choose among
// equally many rows: the larger of the two sets is cut down at random. Otherwise a rare
// group would have an excess only because it is rare. Pairs of one row are adjacent and
// rows ascend.
struct MatchPlan {
  std::string by;
  std::vector<std::string> columns;
  Index reuse = 0;
  double caliper = std::numeric_limits<double>::infinity();
  std::vector<std::int32_t> values;  // that have enough rows
  Index rows = 0;                    // with a label and one of these values
  std::vector<Index> row, partner;
  std::vector<Index> own;  // the floor's partner; -1: none
  std::vector<std::int32_t> from, to;
  std::vector<float> weight;  // 1 / (pairs of that row)
  std::vector<double> distance, quality;
  std::vector<std::pair<std::string, Index>> unmatched;  // why, and how many pairs
  std::string reason;                                    // why there are no pairs at all

  [[nodiscard]] Index size() const { return static_cast<Index>(row.size()); }
};

// Cost: two searches of nearest() per label and ordered pair of values. Throws
// Error(missing_column), Error(bad_data) (nothing to match on) and Error(bad_option) (a
// distance that needs a model's features; a column with too many values for overlap).
[[nodiscard]] MatchPlan match_plan(const MatchInput& input, const Exec& exec);

// Without a model: the table's own columns are encoded in the way that training encodes
// them. The label, the attribute's columns and the task's id, weight and ignored columns
// are left out.
[[nodiscard]] MatchPlan match_plan(const Table& table, const Task& task,
                                   const Attribute& attribute, const AttributeSpec& spec,
                                   const Exec& exec);

// Per attribute of the task. None where its pairs are not matched.
using MatchPlans = std::vector<std::optional<MatchPlan>>;
[[nodiscard]] MatchInput match_input(const Model& model, const Study& study,
                                     const Task& task, std::size_t attribute);
[[nodiscard]] MatchPlans make_matches(const Model& model, const Study& study,
                                      const Task& task, const Exec& exec);

// Gap, floor, excess and balance of a plan. scored: all rows of the table.
[[nodiscard]] MatchReport match_report(const MatchPlan& plan, const MatchInput& input,
                                       const Scored& scored, double confidence);

// The plan as a table for other programs: fmd_row, fmd_partner (numbers from 1), fmd_from,
// fmd_to, fmd_quality.
[[nodiscard]] Table match_table(const MatchPlan& plan, const Attribute& attribute);

}  // namespace fmd
