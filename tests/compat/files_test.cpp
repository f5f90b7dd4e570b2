#include <algorithm>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "compat/releases.h"
#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "fmd/data/task.h"
#include "fmd/formats/features_file.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/rows_file.h"
#include "fmd/formats/safetensors.h"
#include "fmd/formats/undo.h"
#include "support/close.h"

// Files that earlier releases wrote, as C++ programs read them. tests/cli/compat.py uses
// the same files through the command.
namespace fmd {
namespace {

TEST(CompatFiles, TheFirstReleaseIsThere) {
  ASSERT_FALSE(test::releases().empty());
  EXPECT_EQ(test::releases().front().filename(), "v0.1");
}

TEST(CompatFiles, TasksAreReadAsTheyWere) {
  for (const std::filesystem::path& release : test::releases()) {
    const auto files = test::files_of(release / "tasks", ".toml");
    EXPECT_GE(files.size(), 3u);
    for (const std::filesystem::path& toml : files) {
      SCOPED_TRACE(toml);
      std::filesystem::path json = toml;
      const std::string text = read_text(json.replace_extension(".json"));
      const Task stored = task_from_json(text, "stored");
      // Files that a task.toml names are those beside it.
      Task beside = stored;
      for (AttributeSpec& spec : beside.attributes)
        if (spec.pairs.starts_with("given:"))
          spec.pairs = "given:" + (toml.parent_path() / spec.pairs.substr(6)).string();
      EXPECT_EQ(merge(Task{}, read_task(toml)), beside);
      EXPECT_EQ(task_from_json(to_json(stored), "again"), stored);
      // Not every reading gives the same task, and damage is noticed.
      EXPECT_NE(merge(Task{}, parse_task("label = \"other\"", "other")), stored);
      EXPECT_ERROR(task_from_json(text.substr(0, text.size() / 2), "cut"),
                   ErrorKind::bad_model, "cut");
      EXPECT_ERROR(parse_task(read_text(toml) + "\nnew_key =", "cut"), ErrorKind::bad_task,
                   "cut");
    }
  }
}

// Every key that the first release knew.
TEST(CompatFiles, AFullTaskHasEveryKey) {
  const std::filesystem::path folder = test::releases().front() / "tasks";
  const TaskOverrides task = read_task(folder / "full.toml");
  EXPECT_EQ(task.label, "approved");
  EXPECT_EQ(task.positive, "yes");
  EXPECT_EQ(task.classes, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(task.favorable, "yes");
  EXPECT_EQ(task.threshold, "0.25");
  EXPECT_EQ(task.weight, "weight");
  EXPECT_EQ(task.id, "id");
  EXPECT_EQ(task.ignore, (std::vector<std::string>{"note", "grade"}));
  EXPECT_EQ(task.unseen, "bucket");
  EXPECT_EQ(task.min_group, 50);
  EXPECT_EQ(task.min_label, 10);
  ASSERT_TRUE(task.types && task.attribute_specs && task.limits);
  EXPECT_EQ(task.types->at("age"), ColumnKind::number);
  EXPECT_EQ(task.types->at("zip"), ColumnKind::category);
  const std::vector<AttributeSpec>& specs = *task.attribute_specs;
  ASSERT_EQ(specs.size(), 5u);
  EXPECT_EQ(specs[0].values, (std::vector<std::string>{"F", "M"}));
  EXPECT_EQ(specs[0].reference, "M");
  EXPECT_EQ(specs[1].columns, (std::vector<std::string>{"region", "town"}));
  EXPECT_EQ(specs[1].pairs, "given:" + (folder / "twins.csv").string());
  EXPECT_EQ(specs[2].quantiles, 4);
  EXPECT_EQ(specs[3].cuts, (std::vector<double>{20, 39.5, 60}));
  EXPECT_EQ(specs[4].pairs, "match:overlap");
  EXPECT_EQ(specs[4].match_columns, (std::vector<std::string>{"sex", "region"}));
  EXPECT_EQ(specs[4].caliper, "1sd");
  EXPECT_EQ(specs[4].reuse, 3);
  EXPECT_EQ(task.limits->size(), 3u);
  // [limits] is a table: its keys come in order of their names.
  const Limit co{.measure = "co", .attribute = "sex", .value = 0.005};
  EXPECT_NE(std::find(task.limits->begin(), task.limits->end(), co), task.limits->end());
}

TEST(CompatFiles, ModelsOpenAndAreWrittenTheSame) {
  for (const std::filesystem::path& release : test::releases()) {
    const auto files = test::files_of(release / "models", ".safetensors");
    EXPECT_GE(files.size(), 5u);
    for (const std::filesystem::path& file : files) {
      SCOPED_TRACE(file);
      Bytes bytes = test::unpacked(file);
      const Model model = parse_model(bytes, "model");
      EXPECT_EQ(model.theta.size(), model.head->parameters());
      EXPECT_EQ(model.note.rows, static_cast<Index>(model.note.row_hashes.size()));
      const Model again = parse_model(model_bytes(model), "again");
      EXPECT_EQ(again.theta, model.theta);
      EXPECT_EQ(again.task, model.task);
      EXPECT_EQ(again.note.rows_sha256, hex(sha256(rows_bytes(model.note.row_hashes))));
      bytes.pop_back();
      EXPECT_ERROR(parse_model(bytes, "cut"), ErrorKind::bad_model, "cut");
    }
  }
}

TEST(CompatFiles, UndoGivesBackTheOriginal) {
  for (const std::filesystem::path& release : test::releases()) {
    const auto files = test::files_of(release / "repairs", ".undo");
    EXPECT_GE(files.size(), 10u);
    for (const std::filesystem::path& file : files) {
      SCOPED_TRACE(file);
      std::filesystem::path out = file;
      Bytes undo = test::unpacked(file),
            changed = test::unpacked(out.replace_extension(""));
      const Bytes original = apply_undo(undo, changed);
      bool found = false;
      for (const auto& model : test::files_of(release / "models", ".safetensors"))
        found = found || test::unpacked(model) == original;
      EXPECT_TRUE(found);
      EXPECT_ERROR(apply_undo(undo, original), ErrorKind::wrong_model, "");
      undo.pop_back();
      EXPECT_ERROR(apply_undo(undo, changed), ErrorKind::bad_model, "");
    }
  }
}

TEST(CompatFiles, TensorsOfPathsAreRead) {
  for (const std::filesystem::path& release : test::releases()) {
    const auto files = test::files_of(release / "repairs", ".path.safetensors");
    EXPECT_GE(files.size(), 10u);
    for (const std::filesystem::path& file : files) {
      SCOPED_TRACE(file);
      Bytes bytes = test::unpacked(file);
      const Safetensors path = Safetensors::parse(bytes, "path");
      const Tensor& theta = path.tensors.at("theta");
      ASSERT_EQ(theta.shape.size(), 2u);
      for (const double value : tensor_numbers(theta, "theta"))
        EXPECT_TRUE(std::isfinite(value));
      for (const char* name : {"lambda", "s", "K"})
        EXPECT_EQ(path.tensors.at(name).elements(), theta.shape[0]);
      bytes.pop_back();
      EXPECT_ERROR(Safetensors::parse(bytes, "cut"), ErrorKind::bad_model, "cut");
    }
  }
}

TEST(CompatFiles, FeaturesOpen) {
  for (const std::filesystem::path& release : test::releases()) {
    const auto files = test::files_of(release / "features", ".features");
    EXPECT_GE(files.size(), 4u);
    Index sparse = 0;
    for (const std::filesystem::path& file : files) {
      SCOPED_TRACE(file);
      const FeaturesFile opened = FeaturesFile::open(file);
      const FeaturesNote& note = opened.note();
      sparse += note.places > 0 ? 1 : 0;
      EXPECT_EQ(opened.features(0, note.rows)->rows(), note.rows);
      EXPECT_EQ(opened.features(0, note.rows)->cols(), note.cols);
      EXPECT_EQ(static_cast<Index>(opened.labels(0, note.rows).size()), note.rows);
      for (std::size_t k = 0; k < note.attributes.size(); ++k)
        EXPECT_EQ(static_cast<Index>(opened.attribute(k, 0, note.rows).group.size()),
                  note.rows);
      auto cut = std::make_shared<Bytes>(test::unpacked(file));
      cut->pop_back();
      EXPECT_ERROR(FeaturesFile::parse(InputFile::in_memory(*cut, "cut")),
                   ErrorKind::bad_model, "cut");
    }
    EXPECT_GT(sparse, 0);
    EXPECT_LT(sparse, static_cast<Index>(files.size()));
  }
}

}  // namespace
}  // namespace fmd
