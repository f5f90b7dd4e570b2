#include "fmd/pipeline/slope.h"

#include <gtest/gtest.h>

#include "fmd/pipeline/audit.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

// The derivative against really moving the number in every row, up and down.
double by_differences(const Model& model, const Table& table, double step) {
  const auto moved = [&](double by) {
    Table other = table;
    for (Column& column : other.columns)
      if (column.name == "x")
        for (double& number : column.numbers) number += by;
    const Study study = make_study(model, other, model.task, false, {});
    return score(model, study, {}, {}).p;
  };
  const Matrix change = (moved(step) - moved(-step)) / (2 * step);
  double sum = 0;
  Index rows = 0;
  for (const Column& column : table.columns) {
    if (column.name != "x") continue;
    for (Index i = 0; i < change.rows(); ++i) {
      if (std::isnan(column.numbers[static_cast<std::size_t>(i)])) continue;
      sum += change.row(i).lpNorm<1>() / 2;
      ++rows;
    }
  }
  return sum / static_cast<double>(rows);
}

Task number_task() {
  Task task = test::made_up_task();
  task.attributes = {{.name = "x", .columns = {"x"}, .quantiles = 4}};
  return task;
}

TEST(Slope, IsTheDerivativeThroughTheModel) {
  const Model model =
      train_model(test::number_of_columns(2000, 1), number_task(), "", {}, {}).model;
  Table table = test::number_of_columns(800, 2);
  for (Column& column : table.columns)
    if (column.name == "x") column.numbers[3] = column.numbers[70] = std::nan("");
  const Study study = make_study(model, table, model.task, false, {});
  const auto pairs = make_pairs(model, study, model.task, {}, {});
  EXPECT_FALSE(pairs[0]);  // ranges are not flipped
  const AuditReport report = audit_model(model, study, pairs, {}, {});
  const AttributeAudit& x = report.attributes[0];
  EXPECT_EQ(x.flip_reason, "ranges_of_a_number");
  ASSERT_TRUE(x.slope);
  EXPECT_EQ(x.slope->rows, 798);
  EXPECT_CLOSE(x.slope->per_unit.value, by_differences(model, table, 1e-3), 1e-4);
  EXPECT_CLOSE(x.slope->per_deviation.value, x.slope->per_unit.value * x.slope->deviation,
               1e-12);
  EXPECT_LT(x.slope->per_unit.low, x.slope->per_unit.value);
  EXPECT_GT(x.slope->per_unit.high, x.slope->per_unit.value);
  EXPECT_CLOSE(std::abs(x.slope->signed_per_unit), x.slope->per_unit.value, 1e-12);
  // Five groups: four ranges and the two rows without a number.
  EXPECT_EQ(x.groups.groups.size(), 5U);
  EXPECT_EQ(x.groups.groups[4].value, "(missing)");
  EXPECT_EQ(x.groups.groups[4].rows, 2);
  const std::string text = screen(sheet_of(report));
  EXPECT_NE(text.find("slope"), std::string::npos);
  EXPECT_NE(text.find("a range begins at its cut"), std::string::npos);
}

TEST(Slope, OfManyClassesIsHalfTheSumOverThem) {
  Table table = test::number_of_columns(2000, 1);
  Task task = number_task();
  task.label = "third";
  task.classes = {"u", "v", "w"};
  task.favorable = "v";
  const Model model = train_model(table, task, "", {}, {}).model;
  const Study study = make_study(model, table, model.task, false, {});
  const auto slope =
      measure_slope(model, study, study.attributes[0], {.replicates = 100}, {});
  ASSERT_TRUE(slope);
  EXPECT_CLOSE(slope->per_unit.value, by_differences(model, table, 1e-3), 1e-3);
}

TEST(Slope, IsUndefinedForWhatTheModelDoesNotRead) {
  Table table = test::number_of_columns(2000, 1);
  const Model full = train_model(table, number_task(), "", {}, {}).model;
  const Model model = train_without(full, table, {"x"}, {}).model;
  const Study study = make_study(model, table, model.task, false, {});
  const AuditReport report =
      audit_model(model, study, make_pairs(model, study, model.task, {}, {}), {}, {});
  EXPECT_FALSE(report.attributes[0].slope);
  EXPECT_EQ(report.attributes[0].slope_reason, "not_an_input");
  EXPECT_EQ(report.attributes[0].flip_reason, "not_an_input");
}

}  // namespace
}  // namespace fmd
