#include "fmd/pipeline/predict.h"

#include <string>

#include <fmt/format.h>

#include "fmd/data/csv.h"
#include "fmd/metrics/scored.h"
#include "fmd/pipeline/complete_task.h"
#include "fmd/pipeline/study_stream.h"

namespace fmd {
namespace {

std::string score_header(const Task& task) {
  std::string text = "row,predicted";
  for (const std::string& name : task.classes) text += "," + csv_cell("p_" + name);
  return text + "\n";
}

std::string score_lines(const Task& task, const Study& block, const Scored& scored,
                        CsvGuard guard) {
  const Matrix& p = scored.p;
  std::vector<std::string> answers;
  for (const std::string& name : task.classes) answers.push_back(csv_cell(name, guard));
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  for (Index i = 0; i < p.rows(); ++i) {
    const auto k = static_cast<std::size_t>(scored.decision[static_cast<std::size_t>(i)]);
    fmt::format_to(out, "{},{}", block.first + i + 1, answers[k]);
    for (Index c = 0; c < p.cols(); ++c) fmt::format_to(out, ",{}", p(i, c));
    fmt::format_to(out, "\n");
  }
  return fmt::to_string(text);
}

}  // namespace

Index predict(const ModelSource& source, const DataSource& data, const TaskChanges& changes,
              const std::function<void(std::string_view)>& sink, const Exec& exec,
              CsvGuard guard) {
  const Model model = complete_model(source.model(), data, changes, exec);
  Task inputs = model.task;
  inputs.label.clear();
  inputs.attributes.clear();
  StudyStream stream(model, inputs, data, {.survey = false}, exec);
  Index rows = 0;
  for (Study block; stream.next(block, "scoring"); rows += block.size()) {
    const Scored scored = score(model, block, {}, exec);
    if (rows == 0) sink(score_header(model.task));
    sink(score_lines(model.task, block, scored, guard));
  }
  return rows;
}

}  // namespace fmd
