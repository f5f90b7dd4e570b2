// Scores, scans and slopes block by block: the same report to the bit as with the whole
// table.
#include "fmd/pipeline/score_files.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/pair_plan.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/scan.h"
#include "fmd/pipeline/slope.h"
#include "fmd/pipeline/study_stream.h"
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
  // The report without the name of its file, which a table in memory does not have.
  template <typename Report>
  static std::string figures(Report report) {
    report.data.clear(), report.data_sha256.clear();
    return to_json(report);
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
  const DataSource file = DataSource::file(path("scores.csv"));
  const Table whole = file.read(csv(), {});
  const AuditReport found = audit(ScoresSource(task), file, kQuick, {});
  EXPECT_EQ(figures(found),
            figures(audit(ScoresSource(task), DataSource::table(whole), kQuick, {})));
  EXPECT_EQ(found.kind + found.model, "");
  EXPECT_ERROR(audit(ScoresSource(task), DataSource::file(path("people.csv")), kQuick, {}),
               ErrorKind::missing_column, "p_no");
  Task other = task;
  other.attributes[0] = {.name = "nobody", .columns = {"nobody"}};
  EXPECT_ERROR(audit(ScoresSource(other), file, kWhole, {}), ErrorKind::missing_column,
               "nobody");
  EXPECT_ERROR((void)ScoresSource(task).with_theta({}), ErrorKind::unsupported,
               "no parameters");
}

// The scores of a model, and the model itself: the same figures.
TEST_F(Files, PairsAreReadBesideTheirRows) {
  const Task& task = model_->task;
  const DataSource scores = DataSource::file(path("scores.csv"));
  const AuditReport expected =
      audit(ModelInMemory(*model_), DataSource::file(path("people.csv")), kWhole, {});
  for (std::size_t a = 0; a < 2; ++a) {
    const DataSource pairs = DataSource::file(path("pairs" + std::to_string(a) + ".csv"));
    const AuditReport found = audit(ScoresSource(task, pairs), scores, kWhole, {});
    EXPECT_FALSE(found.attributes[1 - a].flip);
    ASSERT_TRUE(found.attributes[a].flip);
    EXPECT_EQ(found.attributes[a].flip->co.value, expected.attributes[a].flip->co.value);
    EXPECT_EQ(found.attributes[a].flip->co.low, expected.attributes[a].flip->co.low);
    const Table table = pairs.read(csv(), {});
    EXPECT_EQ(
        to_json(audit(ScoresSource(task, DataSource::table(table)), scores, kWhole, {})),
        to_json(found));
    // In any order: the rows of pairs from the last to the first.
    std::vector<Index> turned(static_cast<std::size_t>(table.rows()));
    for (Index i = 0; i < table.rows(); ++i)
      turned[static_cast<std::size_t>(i)] = table.rows() - 1 - i;
    const DataSource back = DataSource::table(select(table, turned));
    EXPECT_EQ(to_json(audit(ScoresSource(task, back), scores, kWhole, {})), to_json(found));
  }
}

TEST_F(Files, APairOfARowThatIsNotThereIsAnError) {
  Table pairs = read_csv(path("pairs1.csv"), csv());
  for (double& row : pairs.columns[0].numbers) row += static_cast<double>(kScoreRows);
  EXPECT_ERROR(audit(ScoresSource(model_->task, DataSource::table(pairs)),
                     DataSource::file(path("scores.csv")), kQuick, {}),
               ErrorKind::bad_value, "not a row of the scores");
}

TEST_F(Files, LabelsAreFoundInAnyBlock) {
  const DataSource people = DataSource::file(path("people.csv"));
  TaskChanges changes;
  changes.flags.label = "third";
  const Table table = people.read({}, {});
  EXPECT_EQ(open_scores(people, std::nullopt, changes, {}).model().task.classes,
            label_classes(table, "third", ""));
  changes.flags.label = "tird";
  EXPECT_ERROR((void)open_scores(people, std::nullopt, changes, {}),
               ErrorKind::missing_column, "third");
  changes.flags.label.reset();
  changes.flags.positive = "good";
  EXPECT_EQ(open_scores(people, std::nullopt, changes, {}).model().task.classes,
            (std::vector<std::string>{"no", "good"}));
}

TEST_F(Files, ScansAreMadeBlockByBlock) {
  const ModelInMemory model(*model_);
  const DataSource file = DataSource::file(path("people.csv"));
  const DataSource memory = DataSource::table(file.read(csv(), {}));
  ScanReport whole = scan(model, memory, {}, {});
  const std::string expected = figures(whole);
  EXPECT_EQ(figures(scan(model, file, {}, {})), expected);
  EXPECT_NE(expected.find("more than 256 values"), std::string::npos);
  EXPECT_NE(expected.find("one value"), std::string::npos);
  ThreadPool pool(3);
  EXPECT_EQ(figures(scan(model, file, {}, {.pool = &pool})), expected);
  const ScanOptions named{.columns = {"third", "name"}};
  EXPECT_EQ(figures(scan(model, file, named, {})), figures(scan(model, memory, named, {})));
  EXPECT_ERROR(scan(model, file, {.columns = {"y"}}, {}), ErrorKind::bad_option,
               "is the label");
  EXPECT_ERROR(scan(model, file, {.columns = {"tird"}}, {}), ErrorKind::missing_column,
               "tird");
}

TEST_F(Files, ScansOfScoresAreMadeBlockByBlock) {
  const ScoresSource scores(model_->task);
  const DataSource file = DataSource::file(path("scores.csv"));
  const DataSource memory = DataSource::table(file.read(csv(), {}));
  EXPECT_EQ(figures(scan(scores, file, {}, {})), figures(scan(scores, memory, {}, {})));
}

TEST_F(Files, SlopesAreMeasuredBlockByBlock) {
  Model model = *model_;
  model.task.attributes = {{.name = "x", .columns = {"x"}, .quantiles = 4},
                           {.name = "group", .columns = {"group"}}};
  const ModelInMemory source(model);
  const DataSource file = DataSource::file(path("people.csv"));
  const Table table = file.read(csv(), {});
  for (const Bootstrap intervals : {Bootstrap::percentile, Bootstrap::bca}) {
    AuditOptions options = kQuick;
    options.intervals = intervals;
    const AuditReport expected = audit(source, DataSource::table(table), options, {});
    ASSERT_TRUE(expected.attributes[0].slope);
    EXPECT_EQ(figures(audit(source, file, options, {})), figures(expected));
  }
  OutputFiles files({.force = true});
  StudyStream encoded(model, model.task, file, {}, {});
  write_features(model, model.task, encoded, "", files, path("people.features"));
  files.commit();
  const AuditReport found =
      audit(source, DataSource::file(path("people.features")), kQuick, {});
  const Study whole = make_study(model, table, model.task, true, {});
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
