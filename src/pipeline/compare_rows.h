#pragma once

#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/baselines/baseline.h"
#include "fmd/data/attribute.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/compare.h"

namespace fmd::internal {

struct OutsideTables {
  std::string name;
  Table scores;
  std::optional<Table> pairs;
};

// What is compared, as it was read.
struct CompareInput {
  Table data;
  std::string data_sha256;
  std::optional<Model> model;  // none: one is trained on the train part
  std::string model_name, model_sha256;
  std::optional<Table> train;  // the rows that the model was trained on
  Task task;                   // the model's, or the one to train for; classes known
  std::vector<OutsideTables> outside;
};

// Which rows are used for what. Rows ascend; no row is used twice.
struct CompareRows {
  AttributeSpec attribute;
  std::vector<Index> train, edit, holdout, test;

  [[nodiscard]] std::vector<ComparePart> parts() const;
  // Of each of `count` rows: see CompareReport.
  [[nodiscard]] std::vector<std::string> part_of_row(Index count) const;
};

// Seeded, stratified by label and attribute. Throws Error(bad_option: attribute, parts;
// bad_data: too few rows; bad_value: a label is missing).
[[nodiscard]] CompareRows compare_rows(const CompareInput& input,
                                       const CompareOptions& options, std::uint64_t seed);

// The answers of another program on the test rows. Throws Error(bad_data) that names a
// row that is missing or occurs twice, and what read_scores() throws.
[[nodiscard]] Answers outside_scores(const OutsideTables& outside, const Task& task,
                                     const Table& data, const std::vector<Index>& test);

// Its answers on the pairs (row of DATA, value of the attribute), in their order.
// outside.pairs must be given. Throws Error(bad_data) that names a missing pair.
[[nodiscard]] Answers outside_pair_scores(
    const OutsideTables& outside, const Task& task, const Attribute& attribute,
    const std::vector<std::pair<Index, std::int32_t>>& pairs);

}  // namespace fmd::internal
