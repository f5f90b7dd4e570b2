#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/metrics/counterfactual.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/backbone.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/source.h"

namespace fmd::internal {

// Reads probabilities in place of features: they stand in the offset, in double.
class ScoresBackbone final : public Backbone {
 public:
  ScoresBackbone(Task task, std::optional<DataSource> pairs,
                 const std::map<std::string, ColumnKind>& types);
  [[nodiscard]] Index cols() const override { return 1; }
  [[nodiscard]] Hash hash() const override;
  [[nodiscard]] const InputSchema& inputs() const override { return schema_; }
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> rows,
                                                   const Exec& exec) const override;

  [[nodiscard]] const Task& task() const { return task_; }
  [[nodiscard]] const std::optional<DataSource>& pairs() const { return pairs_; }
  // Throws Error(missing_column) for the first of these that a file does not have: scores,
  // then the columns of attributes. source, names: of the file.
  void require_columns(const std::string& source, const std::vector<std::string>& names,
                       const Task& task) const;

 private:
  Task task_;
  std::optional<DataSource> pairs_;
  InputSchema schema_;
};

// The labels that rows have, each once, for label_classes(): a table with the one column.
// Throws Error(missing_column).
[[nodiscard]] Table label_values(const DataSource& data, CsvOptions csv,
                                 const std::string& label, const Exec& exec);

// The model's backbone where it is scores of another program, otherwise null.
[[nodiscard]] const ScoresBackbone* scores_of(const Model& model);

// Columns that may have scores.
[[nodiscard]] std::vector<std::string> probability_columns(const Task& task);

// The scored pairs of one attribute, beside the rows that they belong to. A file whose
// pairs are in order of their rows is read block by block, any other one whole.
class PairScoreReader {
 public:
  // rows: of the scores. Throws Error(missing_column).
  PairScoreReader(const ScoresBackbone& scores, const Attribute& attribute, Index rows,
                  const Exec& exec);
  // The pairs of the next rows. first: number of the first of them. Throws
  // Error(bad_value) for a pair of a row that the scores do not have.
  PairScores next(const Scored& scored, Index first);

 private:
  struct Pair {
    Index row;
    std::int32_t from, to;
    std::size_t at;  // of its probabilities
  };
  bool read_more();

  Task task_;
  Attribute attribute_;
  Index rows_;
  std::optional<TableStream> stream_;
  std::vector<Pair> waiting_;  // in order of rows
  std::vector<double> p_;      // of these, classes each
  std::size_t taken_ = 0;      // of those that wait
};

}  // namespace fmd::internal
