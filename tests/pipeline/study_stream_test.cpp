#include "fmd/pipeline/study_stream.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "fmd/model/passes.h"
#include "fmd/pipeline/explain.h"
#include "fmd/pipeline/train_model.h"
#include "pipeline/tables.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

constexpr Index kStudyRows = 2 * kStreamRows + 1234;

// A table of three blocks on disk, its model, and the same table in memory.
class Streamed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::Folder>();
    const Table table = test::number_of_columns(kStudyRows, 1);
    csv_ = (*folder_ / "people.csv").string();
    test::write_text(csv_, to_csv(table));
    model_ =
        std::make_unique<Model>(train_model(table, test::made_up_task(), "", {}, {}).model);
    features_ = (*folder_ / "people.features").string();
    OutputFiles files({.force = true});
    StudyStream stream(*model_, model_->task, DataSource::file(csv_), {}, {});
    write_features(*model_, model_->task, stream, "", files, features_);
    files.commit();
  }
  static void TearDownTestSuite() {
    folder_.reset();
    model_.reset();
  }

  static Study in_memory() {
    return make_study(*model_, read_csv(csv_, csv_options(model_->task)), model_->task,
                      true, {});
  }

  static std::unique_ptr<test::Folder> folder_;
  static std::unique_ptr<Model> model_;
  static std::string csv_, features_;
};

std::unique_ptr<test::Folder> Streamed::folder_;
std::unique_ptr<Model> Streamed::model_;
std::string Streamed::csv_, Streamed::features_;

TEST_F(Streamed, BlocksOfATableAndOfItsFeaturesAreTheTable) {
  const Study whole = in_memory();
  const Matrix p = all_probabilities(*model_->head, whole.rows(), model_->theta, {});
  for (const std::string& name : {csv_, features_}) {
    const Exec exec;
    StudyStream stream(*model_, model_->task, DataSource::file(name), {}, exec);
    EXPECT_EQ(stream.rows(), kStudyRows);
    EXPECT_TRUE(stream.labelled());
    for (int turn = 0; turn < 2; ++turn, stream.rewind()) {
      Index row = 0, seen = 0;
      for (Study block; stream.next(block, "test"); row += block.size()) {
        EXPECT_EQ(block.first, row);
        const Matrix part =
            all_probabilities(*model_->head, block.rows(), model_->theta, {});
        EXPECT_TRUE(part == p.middleRows(row, part.rows())) << name << " " << row;
        const auto from = static_cast<std::size_t>(row);
        const std::size_t count = block.y.size();
        ASSERT_EQ(count, static_cast<std::size_t>(block.size()));
        EXPECT_TRUE(std::equal(block.y.begin(), block.y.end(), whole.y.begin() + row));
        for (std::size_t a = 0; a < whole.attributes.size(); ++a) {
          EXPECT_EQ(block.attributes[a].values, whole.attributes[a].values);
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(block.attributes[a].code[i], whole.attributes[a].code[from + i]);
        }
        seen += block.seen;
        EXPECT_EQ(block.seen_by_chance, whole.seen_by_chance);
      }
      EXPECT_EQ(row, kStudyRows);
      EXPECT_EQ(seen, whole.seen);
    }
  }
}

TEST_F(Streamed, ExplainGivesTheSameBitsFromMemoryFileAndSpill) {
  const ModelInMemory model(*model_);
  const DataSource table =
      DataSource::table(DataSource::file(csv_).read(csv_options(model_->task), {}));
  const Explanation memory = explain(model, table, table, {}, {});
  std::string text;
  memory.write_csv([&](std::string_view part) { text += part; }, {});
  const auto from = [&](const std::string& name, const std::filesystem::path& spill) {
    ExplainOptions options;
    options.spill = !spill.empty();
    options.beside = spill;
    const DataSource file = DataSource::file(name);
    const Explanation found = explain(model, file, file, options, {});
    EXPECT_TRUE(found.change == memory.change) << name;
    std::string other;
    found.write_csv([&](std::string_view part) { other += part; }, {});
    EXPECT_EQ(other, text);
  };
  from(csv_, "");
  from(features_, "");
  from(csv_, *folder_ / "spilled");
  for (const auto& entry : std::filesystem::directory_iterator(folder_->path()))
    EXPECT_EQ(entry.path().filename().string().find("spilled"), std::string::npos);
}

TEST_F(Streamed, FeaturesOfAnotherModelOrWithoutAnAttributeAreRefused) {
  const Exec exec;
  const Model other =
      train_model(test::number_of_columns(2000, 7), test::made_up_task(), "", {}, {}).model;
  EXPECT_ERROR(StudyStream(other, other.task, DataSource::file(features_), {}, exec),
               ErrorKind::bad_model, "these features were made by another model");
  Task task = model_->task;
  task.attributes.push_back({.name = "religion"});
  EXPECT_ERROR(StudyStream(*model_, task, DataSource::file(features_), {}, exec),
               ErrorKind::missing_column, "has no attribute \"religion\"");
  task = model_->task;
  task.label = "other";
  EXPECT_ERROR(
      StudyStream(*model_, task, DataSource::file(features_), {.need_labels = true}, exec),
      ErrorKind::missing_column, "has no label \"other\"");
}

}  // namespace
}  // namespace fmd
