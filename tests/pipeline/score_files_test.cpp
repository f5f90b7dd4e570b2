// Scores, scans and slopes block by block: the same report to the bit as with the whole
// table.
#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/pair_plan.h"
#include "fmd/pipeline/audit_stream.h"
#include "fmd/pipeline/scan.h"
#include "fmd/pipeline/slope.h"
#include "fmd/pipeline/train_model.h"
#include "pipeline/tables.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

constexpr Index kScoreRows =
    kStreamRows + 4096 + 321;  // two blocks, the second no whole one
const AuditOptions kQuick{.replicates = 60, .by_name = false};
const AuditOptions kWhole{.replicates = 60};

// A table of two blocks with columns that a scan finds, drops and leaves out.
Table scored_people(Index rows) {
  Table table = test::number_of_columns(rows, 1);
  Column id{.name = "name", .kind = ColumnKind::category};
  Column few{.name = "few", .kind = ColumnKind::number};
  Column one{.name = "constant", .kind = ColumnKind::category, .levels = {"same"}};
  for (Index i = 0; i < rows; ++i) {
    id.levels.push_back("person " + std::to_string(i));
    id.codes.push_back(static_cast<std::int32_t>(i));
    few.numbers.push_back(static_cast<double>(i % 5));
    one.codes.push_back(0);
  }
  table.columns.push_back(id);
  table.columns.push_back(few);
  table.columns.push_back(one);
  return table;
}

class Files : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::Folder>();
    const Table table = scored_people(kScoreRows);
    model_ = std::make_unique<Model>(
        train_model(test::number_of_columns(3000, 2), test::made_up_task(), "", {}, {})
            .model);
    write("people.csv", table);
    const Study study = make_study(*model_, table, model_->task, true, {});
    write("scores.csv", scored(table, score(*model_, study, {}, {})));
    Table pairs;  // of both attributes, one behind the other
    for (std::size_t a = 0; a < 2; ++a) {
      const Attribute& attribute = study.attributes[a];
      const StudyPairs flips = make_flip_pairs(*model_, study, a, {});
      const PairScores twins = score_pairs(*model_, study, flips, {});
      Table part = flipped_table(table, attribute, flip_plan(attribute));
      Column name{.name = "fmd_attribute",
                  .kind = ColumnKind::category,
                  .levels = {attribute.name}};
      name.codes.assign(static_cast<std::size_t>(part.rows()), 0);
      part.columns.push_back(name);
      part.columns.push_back(probability(twins.pbar));
      write("pairs" + std::to_string(a) + ".csv", part);
    }
  }
  static void TearDownTestSuite() {
    folder_.reset();
    model_.reset();
  }

  static Column probability(const Matrix& p) {
    Column column{.name = "p"};
    for (Index i = 0; i < p.rows(); ++i) column.numbers.push_back(p(i, 1));
    return column;
  }
  static Table scored(Table table, const Scored& scores) {
    table.columns.push_back(probability(scores.p));
    return table;
  }
  static std::string path(const std::string& name) { return (*folder_ / name).string(); }
  static void write(const std::string& name, const Table& table) {
    test::write_text(path(name), to_csv(table));
  }
  static CsvOptions csv() {
    CsvOptions options = csv_options(model_->task);
    options.types["fmd_from"] = options.types["fmd_to"] = ColumnKind::category;
    return options;
  }

  static std::unique_ptr<test::Folder> folder_;
  static std::unique_ptr<Model> model_;
};

std::unique_ptr<test::Folder> Files::folder_;
std::unique_ptr<Model> Files::model_;

TEST_F(Files, ScoresAreAuditedBlockByBlock) {
  const Task& task = model_->task;
  const Table whole = read_csv(path("scores.csv"), csv());
  TableStream stream = open_scores(path("scores.csv"), csv(), task, kQuick, {});
  EXPECT_EQ(to_json(audit_file_streams(stream, nullptr, task, kQuick, {})),
            to_json(audit_files(whole, nullptr, task, kQuick, {})));
  EXPECT_ERROR(open_scores(path("people.csv"), csv(), task, kQuick, {}),
               ErrorKind::missing_column, "p_no");
  Task other = task;
  other.attributes[0] = {.name = "nobody", .columns = {"nobody"}};
  EXPECT_ERROR(open_scores(path("scores.csv"), csv(), other, kWhole, {}),
               ErrorKind::missing_column, "nobody");
}

TEST_F(Files, PairsAreReadBesideTheirRows) {
  const Task& task = model_->task;
  const Table whole = read_csv(path("scores.csv"), csv());
  for (const char* name : {"pairs0.csv", "pairs1.csv"}) {
    const Table pairs = read_csv(path(name), csv());
    const AuditReport expected = audit_files(whole, &pairs, task, kWhole, {});
    TableStream scores = open_scores(path("scores.csv"), csv(), task, kWhole, {});
    TableStream twins = open_pair_scores(path(name), csv(), task, {});
    ASSERT_TRUE(in_order(twins));
    const AuditReport found = audit_file_streams(scores, &twins, task, kWhole, {});
    EXPECT_EQ(found.attributes[0].flip.has_value(), std::string(name) == "pairs0.csv");
    EXPECT_EQ(to_json(found), to_json(expected));
  }
}

TEST_F(Files, PairsThatAreOutOfOrderAreSeen) {
  Table pairs = read_csv(path("pairs1.csv"), csv());
  std::vector<Index> turned(100);
  for (Index i = 0; i < 100; ++i) turned[static_cast<std::size_t>(i)] = 99 - i;
  write("turned.csv", select(pairs, turned));
  TableStream stream = open_pair_scores(path("turned.csv"), csv(), model_->task, {});
  EXPECT_FALSE(in_order(stream));
  for (double& row : pairs.columns[0].numbers) row += static_cast<double>(kScoreRows);
  write("outside.csv", pairs);
  TableStream outside = open_pair_scores(path("outside.csv"), csv(), model_->task, {});
  TableStream scores = open_scores(path("scores.csv"), csv(), model_->task, kQuick, {});
  EXPECT_ERROR(audit_file_streams(scores, &outside, model_->task, kQuick, {}),
               ErrorKind::bad_value, "not a row of the scores");
}

TEST_F(Files, LabelsAreFoundInAnyBlock) {
  const Table values = read_label_values(path("people.csv"), csv(), "third", {});
  EXPECT_EQ(label_classes(values, "third", ""),
            label_classes(read_csv(path("people.csv"), csv()), "third", ""));
  EXPECT_ERROR(read_label_values(path("people.csv"), csv(), "tird", {}),
               ErrorKind::missing_column, "third");
}

TEST_F(Files, ScansAreMadeBlockByBlock) {
  const Table table = read_csv(path("people.csv"), csv());
  Task none = model_->task;
  none.attributes.clear();
  Study study = make_study(*model_, table, none, false, {});
  const std::string expected = to_json(scan_model(*model_, study, {}, {}));
  EXPECT_EQ(to_json(scan_model_file(*model_, path("people.csv"), {}, {})), expected);
  EXPECT_NE(expected.find("more than 256 values"), std::string::npos);
  EXPECT_NE(expected.find("one value"), std::string::npos);
  ThreadPool pool(3);
  EXPECT_EQ(to_json(scan_model_file(*model_, path("people.csv"), {}, {.pool = &pool})),
            expected);
  const ScanOptions named{.columns = {"third", "name"}};
  EXPECT_EQ(to_json(scan_model_file(*model_, path("people.csv"), named, {})),
            to_json(scan_model(*model_, study, named, {})));
  EXPECT_ERROR(scan_model_file(*model_, path("people.csv"), {.columns = {"y"}}, {}),
               ErrorKind::bad_option, "is the label");
  EXPECT_ERROR(scan_model_file(*model_, path("people.csv"), {.columns = {"tird"}}, {}),
               ErrorKind::missing_column, "tird");
}

TEST_F(Files, ScansOfScoresAreMadeBlockByBlock) {
  const Task& task = model_->task;
  const Table table = read_csv(path("scores.csv"), csv());
  EXPECT_EQ(to_json(scan_score_file(path("scores.csv"), csv(), task, {}, {})),
            to_json(scan_files(table, read_scores(table, task), task, {}, {})));
}

TEST_F(Files, SlopesAreMeasuredBlockByBlock) {
  Model model = *model_;
  model.task.attributes = {{.name = "x", .columns = {"x"}, .quantiles = 4},
                           {.name = "group", .columns = {"group"}}};
  ASSERT_TRUE(streams(model.task));
  const Study whole =
      make_study(model, read_csv(path("people.csv"), csv()), model.task, true, {});
  for (const Bootstrap intervals : {Bootstrap::percentile, Bootstrap::bca}) {
    AuditOptions options = kQuick;
    options.intervals = intervals;
    AuditReport expected = audit_model(
        model, whole, make_pairs(model, whole, model.task, {}, {}), options, {});
    ASSERT_TRUE(expected.attributes[0].slope);
    StudyStream stream(model, model.task, DataSource::file(path("people.csv")), {}, {});
    AuditReport found = audit_stream(model, stream, options, {});
    found.data = expected.data;
    EXPECT_EQ(to_json(found), to_json(expected));
  }
  OutputFiles files({.force = true});
  StudyStream encoded(model, model.task, DataSource::file(path("people.csv")), {}, {});
  write_features(model, model.task, encoded, "", files, path("people.features"));
  files.commit();
  StudyStream mapped(model, model.task, DataSource::file(path("people.features")), {}, {});
  const AuditReport found = audit_stream(model, mapped, kQuick, {});
  const auto slope = measure_slope(model, whole, whole.attributes[0], kQuick, {});
  EXPECT_EQ(found.attributes[0].slope->per_unit.value, slope->per_unit.value);
  EXPECT_EQ(found.attributes[0].slope->per_unit.low, slope->per_unit.low);
}

// Beyond what is kept the interval comes from bins: near that of the rows.
TEST_F(Files, SlopesOfVeryManyRowsComeFromBins) {
  Model model = *model_;
  Attribute x;
  x.name = "x";
  x.columns = {"x"};
  x.cuts = {0};
  Rng rng(1, "slopes");
  Matrix p(210'000, 2);
  for (Index i = 0; i < p.rows(); ++i) {
    p(i, 1) = rng.uniform();
    p(i, 0) = 1 - p(i, 1);
  }
  const std::vector<std::int32_t> code(210'000, 0);
  const auto measure = [&](Index rows) {
    auto tally = SlopeTally::of(model, x);
    const Index cols = model.head->inputs();
    const auto X =
        make_dense(std::vector<float>(static_cast<std::size_t>(rows * cols)), rows, cols);
    tally->add(model, {.X = X.get(), .y = {}, .weight = {}, .subset = {}}, p.topRows(rows),
               {code.data(), static_cast<std::size_t>(rows)}, {});
    return *tally->report({.replicates = 400}, {});
  };
  const SlopeReport kept = measure(190'000), binned = measure(210'000);
  EXPECT_CLOSE(kept.per_unit.value, binned.per_unit.value, 2e-3);
  const double a = kept.per_unit.high - kept.per_unit.low,
               b = binned.per_unit.high - binned.per_unit.low;
  EXPECT_NEAR(b / a, std::sqrt(19.0 / 21), 0.15);
  EXPECT_LT(binned.per_unit.low, binned.per_unit.value);
}

}  // namespace
}  // namespace fmd
