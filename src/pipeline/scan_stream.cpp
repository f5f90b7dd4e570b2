#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "fmd/data/table_stream.h"
#include "pipeline/scan_pass.h"
#include "pipeline/score_files.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

constexpr std::size_t kMostTexts = 256;  // a column with more divides into too many groups

// A first look at a file, in a dictionary of bounded size.
class FileSurvey {
 public:
  FileSurvey(const std::string& file, const CsvOptions& csv, const Task& task,
             const ScanOptions& options, std::vector<std::string> others)
      : file_(file),
        csv_(csv),
        task_(task),
        options_(options),
        others_(std::move(others)) {}

  // Also leaves the kinds of the columns that were looked at in types().
  SuspectSurvey::Suspects run(const Exec& exec) {
    choose(exec);
    for (;;) {
      SuspectSurvey survey(task_, options_, others_);
      if (!look(survey, exec)) continue;
      return in_file_order(survey.finish());
    }
  }

  [[nodiscard]] const std::map<std::string, ColumnKind>& types() const {
    return csv_.types;
  }

 private:
  [[nodiscard]] bool asked(const std::string& name) const {
    if (name == task_.label) return false;
    if (!options_.columns.empty())
      return std::find(options_.columns.begin(), options_.columns.end(), name) !=
             options_.columns.end();
    return name != task_.weight && name != task_.id &&
           std::find(others_.begin(), others_.end(), name) == others_.end();
  }

  // Columns to look at, from the first rows of all: not those that are no suspects anyway.
  // Wrong names are for the survey to complain about, and need a column to look at.
  void choose(const Exec& exec) {
    TableStream stream = TableStream::open(file_, csv_, exec);
    names_ = stream.names();
    for (const std::string& name : names_)
      if (asked(name)) keep_.push_back(name);
    if (keep_.empty()) keep_ = names_;
    Table block;
    if (!stream.next(block)) return;
    for (const Column& column : block.columns) csv_.types[column.name] = column.kind;
    drop_crowded(block);
  }

  // One pass. False: some columns turned out to have too many texts and are dropped.
  bool look(SuspectSurvey& survey, const Exec& exec) {
    csv_.keep = keep_;
    TableStream stream = TableStream::open(file_, csv_, exec);
    Index rows = 0;
    for (Table block; stream.next(block);) {
      if (drop_crowded(block)) return false;
      survey.add(block);
      exec.report("looking at " + file_, rows += block.rows(), 0);
    }
    return true;
  }

  // The last column stays, crowded or not: a table needs one.
  bool drop_crowded(const Table& block) {
    bool dropped = false;
    for (const Column& column : block.columns) {
      const bool kept = std::find(keep_.begin(), keep_.end(), column.name) != keep_.end();
      if (!kept || column.levels.size() <= kMostTexts || keep_.size() < 2) continue;
      std::erase(keep_, column.name);
      std::erase(options_.columns, column.name);
      crowded_.push_back(column.name);
      dropped = true;
    }
    return dropped;
  }

  // As if the dropped columns had been there to the end.
  SuspectSurvey::Suspects in_file_order(SuspectSurvey::Suspects found) const {
    for (const std::string& name : crowded_)
      found.left_out.push_back({name, "more than 256 values"});
    const auto place = [&](const ScanReport::LeftOut& one) {
      return std::find(names_.begin(), names_.end(), one.column) - names_.begin();
    };
    std::stable_sort(found.left_out.begin(), found.left_out.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return found;
  }

  std::string file_;
  CsvOptions csv_;
  const Task& task_;
  ScanOptions options_;
  std::vector<std::string> others_, names_, keep_, crowded_;
};

// Columns of the second look: suspects and what scores them.
CsvOptions second_look(const FileSurvey& survey, const CsvOptions& csv, const Task& task,
                       const SuspectSurvey::Suspects& suspects,
                       std::vector<std::string> more) {
  CsvOptions options = csv;
  for (const auto& [name, kind] : survey.types()) options.types[name] = kind;
  for (const Attribute& a : suspects.attributes) more.push_back(a.columns[0]);
  if (!task.label.empty()) more.push_back(task.label);
  std::sort(more.begin(), more.end());
  more.erase(std::unique(more.begin(), more.end()), more.end());
  options.keep = std::move(more);
  return options;
}

}  // namespace

ScanReport scan_model_file(const Model& model, const std::string& file,
                           const ScanOptions& options, const Exec& exec) {
  refuse_features(file);
  const CsvOptions csv = table_options(model, model.task);
  FileSurvey survey(file, csv, model.task, options, {});
  const SuspectSurvey::Suspects suspects = survey.run(exec);
  ScanPass pass(&model, model.task, suspects, file);
  std::vector<std::string> read;
  for (const EncodedColumn& column : model.backbone->encoder().columns())
    read.push_back(column.name);
  TableStream stream =
      TableStream::open(file, second_look(survey, csv, model.task, suspects, read), exec);
  Task no_attributes = model.task;
  no_attributes.attributes.clear();
  Index rows = 0;
  for (Table block; stream.next(block);) {
    const Study study = study_of(model, block, no_attributes, false, {}, exec);
    pass.add(block, score(model, study, {}, exec), exec);
    exec.report("scanning", rows += block.rows(), 0);
  }
  return std::move(pass).finish(options);
}

ScanReport scan_score_file(const std::string& file, const CsvOptions& csv, const Task& task,
                           const ScanOptions& options, const Exec& exec) {
  FileSurvey survey(file, csv, task, options, score_columns(task));
  const SuspectSurvey::Suspects suspects = survey.run(exec);
  ScanPass pass(nullptr, task, suspects, file);
  TableStream stream = TableStream::open(
      file, second_look(survey, csv, task, suspects, score_columns(task)), exec);
  Index rows = 0;
  for (Table block; stream.next(block);) {
    pass.add(block, read_scores(block, task), exec);
    exec.report("scanning", rows += block.rows(), 0);
  }
  return std::move(pass).finish(options);
}

}  // namespace fmd
