#include "fmd/pipeline/compare.h"

#include <gtest/gtest.h>

#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

DataSource made_up_rows(Index rows = 1500) {
  return DataSource::table(test::number_of_columns(rows, 3));
}

CompareOptions made_up_options() {
  CompareOptions options;
  options.replicates = 50;
  options.task.flags.label = "y";
  options.task.file.attributes = std::vector<std::string>{"group", "third"};
  return options;
}

CompareOptions with_methods(const std::vector<std::string>& methods) {
  CompareOptions options = made_up_options();
  options.methods = methods;
  return options;
}

const ComparedMethod& find(const CompareReport& report, const std::string& name) {
  for (const ComparedMethod& m : report.methods)
    if (m.name == name) return m;
  throw std::runtime_error("no method " + name);
}

TEST(Compare, EveryMethodIsMeasuredOnTheSameRows) {
  CompareOptions options = made_up_options();
  options.max_accuracy_loss = 0.1;
  const CompareReport report = compare(made_up_rows(), options, {});
  // Those that train a network with PyTorch stand at the end and run by name alone.
  ASSERT_GT(report.methods.size(), 15U);
  for (std::size_t k = 0; k < report.methods.size(); ++k) {
    const ComparedMethod& m = report.methods[k];
    EXPECT_EQ(m.name, compare_methods()[k]);
    ASSERT_EQ(m.reason, "") << m.name;
    EXPECT_EQ(m.test.rows, 450) << m.name;
    EXPECT_GT(m.test.accuracy.value, 0.5) << m.name;
    EXPECT_TRUE(m.test.co.defined()) << m.name;
    EXPECT_LE(m.test.co.low, m.test.co.value) << m.name;
    EXPECT_TRUE(m.test.worst_group.defined()) << m.name;
    if (m.within_budget) {
      EXPECT_GE(m.holdout.accuracy_change.value, -0.1) << m.name;
    }
  }
  for (const char* name : {"vanilla", "solve"})
    EXPECT_TRUE(find(report, name).within_budget) << name;
  EXPECT_EQ(find(report, "vanilla").test.accuracy_change.value, 0);
  EXPECT_EQ(find(report, "average-column").test.co.value, 0);
  EXPECT_EQ(find(report, "retrained-without").test.flip_rate.value, 0);
  EXPECT_LT(find(report, "solve").test.co.value, find(report, "vanilla").test.co.value / 5);
  // Decisions alone: the flip gap is the share of decisions that change.
  const CompareFigures& reject = find(report, "reject").test;
  EXPECT_NEAR(reject.co.value, reject.flip_rate.value, 1e-12);
}

// Of a network the last layer is repaired: columns are read below it.
TEST(Compare, NetworksAreComparedByTheirLastLayer) {
  const test::Parts parts =
      test::split_table(test::number_of_columns(1000, 5), test::made_up_task(), 3);
  const ModelInMemory model(
      train_mlp(parts.train, parts.task, "",
                {.hidden = {8, 6}, .adam = {.epochs = 8, .learning_rate = .01}}, {})
          .model);
  const CompareReport report =
      compare(model, made_up_rows(), {.max_accuracy_loss = 0.1, .replicates = 50}, {});
  for (const char* name : {"average-column", "retrained-without"})
    EXPECT_NE(find(report, name).reason.find("below the last layer"), std::string::npos);
  for (const char* name : {"tempered", "solve", "step", "dfr", "reject", "ppif"})
    ASSERT_EQ(find(report, name).reason, "") << name;
  EXPECT_GT(find(report, "vanilla").test.co.value, 0.02);
  EXPECT_LT(find(report, "solve").test.co.value, find(report, "vanilla").test.co.value);
}

TEST(Compare, PartsAreDisjointAndFollowTheSeed) {
  const auto parts_of = [](std::uint64_t seed) {
    return compare(made_up_rows(), with_methods({"reject"}), {.seed = seed}).part_of_row;
  };
  const std::vector<std::string> parts = parts_of(1);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), "train"), 600);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), "test"), 450);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), ""), 0);
  EXPECT_EQ(parts_of(1), parts);
  EXPECT_NE(parts_of(2), parts);
}

TEST(Compare, OutsideScoresAreJoinedByRow) {
  const Table data = test::number_of_columns(1500, 3);
  // The labels themselves, in the reverse order of DATA.
  Table scores;
  scores.source = "scores.csv";
  Column row{.name = "row", .kind = ColumnKind::number};
  Column p{.name = "p", .kind = ColumnKind::number};
  const Column& y = data.column("y");
  for (Index i = data.rows() - 1; i >= 0; --i) {
    row.numbers.push_back(static_cast<double>(i + 1));
    p.numbers.push_back(y.text(i) == "yes" ? 0.9 : 0.1);
  }
  scores.columns = {row, p};
  CompareOptions options = with_methods({"eqodd"});
  options.outside.push_back({"oracle", DataSource::table(scores)});
  const CompareReport report = compare(DataSource::table(data), options, {});
  ASSERT_EQ(report.methods.size(), 3u);
  EXPECT_EQ(find(report, "oracle").test.accuracy.value, 1);
  EXPECT_EQ(find(report, "oracle").test.equal_opportunity.value, 0);
  EXPECT_EQ(find(report, "oracle").test.flip_reason, "no_pair_scores");
}

TEST(Compare, RefusesWhatDoesNotApply) {
  const auto compared = [](const auto& change, Index rows = 1500) {
    CompareOptions options = made_up_options();
    change(options);
    return compare(made_up_rows(rows), options, {});
  };
  EXPECT_ERROR(compared([](CompareOptions& o) { o.methods = {"magic"}; }),
               ErrorKind::bad_option, "no method magic");
  EXPECT_ERROR(compared([](CompareOptions& o) {
                 o.methods = {"eqodd"};
                 o.attribute = "third";
               }),
               ErrorKind::unsupported, "two values, there are 3");
  EXPECT_ERROR(compared([](CompareOptions& o) { o.attribute = "x"; }),
               ErrorKind::bad_option, "x is not an attribute");
  EXPECT_ERROR(compared([](CompareOptions& o) { o.measure = "fairness"; }),
               ErrorKind::bad_option, "unknown measure fairness");
  EXPECT_ERROR(compared([](CompareOptions&) {}, 60), ErrorKind::bad_data, "too few");
  EXPECT_ERROR(compared([](CompareOptions& o) { o.train = made_up_rows(); }),
               ErrorKind::bad_option, "--train needs --model");
  EXPECT_ERROR(compared([](CompareOptions& o) {
                 o.task.flags.attributes = std::vector<std::string>{"group", "third"};
               }),
               ErrorKind::bad_option, "one attribute at a time");
}

TEST(Compare, JsonHoldsTimesInTheRunAlone) {
  const CompareReport report = compare(made_up_rows(600), with_methods({"reject"}), {});
  const std::string one = compare_json(report, {.date = "d", .seconds = 1});
  const std::string other = compare_json(report, {.date = "e", .seconds = 2});
  EXPECT_EQ(one.substr(0, one.find("\"run\"")), other.substr(0, other.find("\"run\"")));
  EXPECT_NE(one.find("\"reject\""), std::string::npos);
  const std::string text = screen(sheet_of(report));
  EXPECT_NE(text.find("reject"), std::string::npos);
}

}  // namespace
}  // namespace fmd
