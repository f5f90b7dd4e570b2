#include "pipeline/compare_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/data/attribute.h"
#include "fmd/data/split.h"
#include "fmd/pipeline/audit.h"
#include "pipeline/study_parts.h"

namespace fmd::internal {
namespace {

AttributeSpec spec_of(const Task& task, const std::string& name) {
  if (task.attributes.empty()) {
    throw Error(ErrorKind::bad_option, "compare: no attribute is named",
                "name the attribute in question: --attribute COLUMN");
  }
  AttributeSpec spec = task.attributes[0];
  if (!name.empty()) {
    const AttributeSpec* found = task.find(name);
    if (found == nullptr) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("compare: {} is not an attribute of the task", name),
                  "name it with --attribute or in task.toml");
    }
    spec = *found;
  }
  spec.pairs = "flip";
  return spec;
}

// The parts that are needed, in any order, each once.
std::vector<Part> shares(const CompareInput& input, const CompareOptions& options) {
  const bool trains = !input.model;
  const char* usual =
      trains ? "train=.4,edit=.15,holdout=.15,test=.3" : "edit=.25,holdout=.25,test=.5";
  const std::vector<Part> parts =
      parse_parts(options.parts.empty() ? usual : options.parts);
  std::vector<std::string> needed = {"edit", "holdout", "test"};
  if (trains) needed.emplace_back("train");
  bool right = parts.size() == needed.size();
  for (const Part& part : parts)
    right = right && std::find(needed.begin(), needed.end(), part.name) != needed.end();
  if (!right) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("compare: these are not the parts that are needed: {}", options.parts),
        fmt::format("name each once, e.g. {}", usual));
  }
  return parts;
}

// Probabilities and the decisions that follow from them.
Answers answers_of(const Table& scores, Task task) {
  task.label.clear();
  const Scored scored = read_scores(scores, task);
  Answers answers;
  answers.p = scored.p;
  answers.decision = Matrix::Zero(scored.p.rows(), scored.p.cols());
  for (Index i = 0; i < scored.p.rows(); ++i)
    answers.decision(i, scored.decision[static_cast<std::size_t>(i)]) = 1;
  return answers;
}

}  // namespace

std::vector<ComparePart> CompareRows::parts() const {
  std::vector<ComparePart> all;
  if (!train.empty()) all.push_back({"train", std::ssize(train)});
  all.push_back({"edit", std::ssize(edit)});
  all.push_back({"holdout", std::ssize(holdout)});
  all.push_back({"test", std::ssize(test)});
  return all;
}

std::vector<std::string> CompareRows::part_of_row(Index count) const {
  std::vector<std::string> names(static_cast<std::size_t>(count));
  const auto mark = [&](const std::vector<Index>& numbers, const char* name) {
    for (const Index row : numbers) names[static_cast<std::size_t>(row)] = name;
  };
  mark(train, "train");
  mark(edit, "edit");
  mark(holdout, "holdout");
  mark(test, "test");
  return names;
}

CompareRows compare_rows(const CompareInput& input, const CompareOptions& options,
                         std::uint64_t seed) {
  const Task& task = input.model ? input.model->task : input.task;
  CompareRows rows;
  rows.attribute = spec_of(task, options.attribute);
  const std::vector<Part> parts = shares(input, options);
  const std::vector<std::int32_t> y = labels(input.data, task);
  const Attribute attribute = read_attribute(input.data, rows.attribute);
  const auto values = static_cast<std::int32_t>(attribute.values.size()) + 1;
  std::vector<std::int32_t> stratum;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] < 0) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"{}\": the label is missing",
                              input.data.where(static_cast<Index>(i)), task.label),
                  "compare needs labelled rows");
    }
    stratum.push_back(y[i] * values + attribute.code[i] + 1);
  }
  auto split = split_rows(stratum, parts, seed);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (std::ssize(split[k]) < kFewestRows) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: {} rows are too few for the part {}", input.data.source,
                              split[k].size(), parts[k].name),
                  fmt::format("give at least {} labelled rows to each part", kFewestRows));
    }
    (parts[k].name == "train"     ? rows.train
     : parts[k].name == "edit"    ? rows.edit
     : parts[k].name == "holdout" ? rows.holdout
                                  : rows.test) = std::move(split[k]);
  }
  return rows;
}

Answers outside_scores(const OutsideTables& outside, const Task& task, const Table& data,
                       const std::vector<Index>& test) {
  const Table& scores = outside.scores;
  std::vector<Index> place(static_cast<std::size_t>(data.rows()), -1);  // in scores
  const Column* row = scores.find("row");
  if (row == nullptr && scores.rows() != data.rows()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{} has {} rows, {} has {}", scores.source, scores.rows(),
                            data.source, data.rows()),
                "give all rows in the order of DATA, or a column row with their numbers");
  }
  for (Index i = 0; i < scores.rows(); ++i) {
    double number = static_cast<double>(i + 1);
    if (row != nullptr)
      number = row->kind == ColumnKind::number ? row->numbers[static_cast<std::size_t>(i)]
                                               : kUndefined;
    if (!(number >= 1) || number > static_cast<double>(data.rows()) ||
        number != std::floor(number)) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"row\": \"{}\" is not a row of {}",
                              scores.where(i), row->text(i), data.source),
                  fmt::format("rows are numbered from 1 to {}", data.rows()));
    }
    Index& known = place[static_cast<std::size_t>(number) - 1];
    if (known >= 0) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: row {} occurs twice", scores.where(i), number));
    }
    known = i;
  }
  std::vector<Index> wanted;
  for (const Index r : test) {
    if (place[static_cast<std::size_t>(r)] < 0) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: row {} of {} is missing, and it is a test row",
                              scores.source, r + 1, data.source),
                  "--split-out FILE tells which rows are test rows");
    }
    wanted.push_back(place[static_cast<std::size_t>(r)]);
  }
  return answers_of(select(scores, wanted), task);
}

Answers outside_pair_scores(const OutsideTables& outside, const Task& task,
                            const Attribute& attribute,
                            const std::vector<std::pair<Index, std::int32_t>>& pairs) {
  const Table& scores = *outside.pairs;
  const Column& row = scores.column("fmd_row");
  const Column& to = scores.column("fmd_to");
  std::map<std::pair<std::string, std::string>, Index> place;
  for (Index i = 0; i < scores.rows(); ++i) place[{row.text(i), to.text(i)}] = i;
  std::vector<Index> wanted;
  for (const auto& [number, value] : pairs) {
    const std::string& name = attribute.values[static_cast<std::size_t>(value)];
    const auto found = place.find({std::to_string(number + 1), name});
    if (found == place.end()) {
      throw Error(
          ErrorKind::bad_data,
          fmt::format("{}: fmd_row {} with fmd_to {} is missing, and it is a test row",
                      scores.source, number + 1, name),
          fmt::format("score the rows of: fmd pairs DATA --flip {}", attribute.name));
    }
    wanted.push_back(found->second);
  }
  return answers_of(select(scores, wanted), task);
}

}  // namespace fmd::internal
