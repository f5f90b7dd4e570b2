#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fmd/core/exec.h"
#include "fmd/core/rng.h"
#include "fmd/data/attribute.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/data/task.h"
#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/train_model.h"

// Real tables cut into parts, and small made-up ones.
namespace fmd::test {

inline std::filesystem::path data_folder() {
  const char* folder = std::getenv("FMD_DATA");
  return folder == nullptr ? "" : folder;
}

struct Parts {
  Task task;
  Table train, repair, test;
};

// 50 % train, 20 % repair, 30 % test, stratified by label and the first attribute.
inline Parts split_table(const Table& table, const Task& task, std::uint64_t seed) {
  const std::vector<std::int32_t> y = labels(table, task);
  const Attribute a = read_attribute(table, task.attributes[0]);
  std::vector<std::int32_t> stratum;
  for (std::size_t i = 0; i < y.size(); ++i)
    stratum.push_back(y[i] * static_cast<std::int32_t>(a.values.size() + 1) + a.code[i] +
                      1);
  const std::vector<Part> shares = {{"train", .5}, {"repair", .2}, {"test", .3}};
  const auto rows = split_rows(stratum, shares, seed);
  return {task, select(table, rows[0]), select(table, rows[1]), select(table, rows[2])};
}

inline Table number_of_columns(Index rows, std::uint64_t seed) {
  Rng rng(seed, "made-up");
  Table table;
  table.source = "made-up";
  Column x{
      .name = "x", .kind = ColumnKind::number, .numbers = {}, .codes = {}, .levels = {}};
  Column group{.name = "group",
               .kind = ColumnKind::category,
               .numbers = {},
               .codes = {},
               .levels = {"a", "b"}};
  Column third{.name = "third",
               .kind = ColumnKind::category,
               .numbers = {},
               .codes = {},
               .levels = {"u", "v", "w"}};
  Column y{.name = "y",
           .kind = ColumnKind::category,
           .numbers = {},
           .codes = {},
           .levels = {"no", "yes"}};
  for (Index i = 0; i < rows; ++i) {
    const double value = rng.normal();
    const auto g = static_cast<std::int32_t>(rng.below(2));
    const auto t = static_cast<std::int32_t>(rng.below(3));
    const double z = value + 1.2 * g - 0.5 * t;
    x.numbers.push_back(value);
    group.codes.push_back(g);
    third.codes.push_back(t);
    y.codes.push_back(rng.uniform() < 1 / (1 + std::exp(-z)) ? 1 : 0);
  }
  table.columns = {x, group, third, y};
  return table;
}

inline Task made_up_task() {
  Task task;
  task.label = "y";
  task.classes = {"no", "yes"};
  task.favorable = "yes";
  for (const char* name : {"group", "third"}) {
    AttributeSpec spec;
    spec.name = name;
    spec.columns = {name};
    task.attributes.push_back(spec);
  }
  return task;
}

// A model and the parts of its table.
struct Story {
  Parts parts;
  Model model;
};

// A logistic regression of 4,000 made-up rows.
inline Story made_up_story() {
  Story story;
  story.parts = split_table(number_of_columns(4000, 5), made_up_task(), 3);
  story.model = train_model(story.parts.train, story.parts.task, "", {}, {}).model;
  return story;
}

inline DebiasOptions with_rows(DebiasOptions options, const Parts& parts) {
  options.train = DataSource::table(parts.train);
  options.test = DataSource::table(parts.test);
  return options;
}

inline DebiasRun debias_run(const Model& model, const Parts& parts,
                            const DebiasOptions& options, const Exec& exec = {}) {
  return DebiasRun(ModelInMemory(model), DataSource::table(parts.repair),
                   with_rows(options, parts), exec);
}

// Without training rows.
inline DebiasRun debias_run_without(const Model& model, const Parts& parts,
                                    const DebiasOptions& options) {
  DebiasOptions rows = with_rows(options, parts);
  rows.train.reset();
  return DebiasRun(ModelInMemory(model), DataSource::table(parts.repair), rows, {});
}

}  // namespace fmd::test
