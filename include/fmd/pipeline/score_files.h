#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "fmd/core/exec.h"
#include "fmd/formats/model_source.h"
#include "fmd/metrics/scored.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/source.h"

namespace fmd {

// Probabilities, answers and labels of rows that another program scored. `scores` has a
// column p (or score) of the positive class, or p_<class> for each class, and the columns
// of label and attributes.
[[nodiscard]] Scored read_scores(const Table& scores, const Task& task);

// Scores of another program as a model: its answers are columns of DATA (see read_scores),
// and its link is the identity. audit and scan take it like any other. It has no
// parameters: with_theta() throws Error(unsupported).
class ScoresSource final : public ModelSource {
 public:
  // pairs: rows that `fmd pairs` made, with the same probability columns, in any order.
  // types: kinds of columns that the task does not tell.
  explicit ScoresSource(Task task, std::optional<DataSource> pairs = std::nullopt,
                        std::map<std::string, ColumnKind> types = {});
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::unique_ptr<ModelSource> with_theta(const Vector& theta) const override;

 private:
  Model model_;
};

// The same, with the task that task.toml and flags describe. Classes that they do not name
// are the values of the label column; without a label, "no" and `positive` ("yes"). Throws
// Error(missing_column) for a label that is not there.
[[nodiscard]] ScoresSource open_scores(const DataSource& scores,
                                       std::optional<DataSource> pairs,
                                       const TaskChanges& changes, const Exec& exec);

}  // namespace fmd
