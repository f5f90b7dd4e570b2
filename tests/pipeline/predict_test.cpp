#include "fmd/pipeline/predict.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/csv.h"
#include "fmd/pipeline/study.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

TEST(Predict, WritesTheProbabilitiesOfEveryRow) {
  const ModelInMemory model(
      train_model(test::number_of_columns(500, 1), test::made_up_task(), "", {}, {}).model);
  const Table table = test::number_of_columns(30, 2);
  std::string text;
  const auto sink = [&](std::string_view part) { text += part; };
  EXPECT_EQ(predict(model, DataSource::table(table), {}, sink, {}), 30);
  const Study study = make_study(model.model(), table, model.model().task, false, {});
  const Matrix p = score(model.model(), study, {}, {}).p;
  const Table read = parse_csv(text, "scores", {});
  ASSERT_EQ(read.rows(), 30);
  for (Index i = 0; i < 30; ++i) {
    EXPECT_EQ(read.column("p_yes").numbers[static_cast<std::size_t>(i)], p(i, 1));
    EXPECT_EQ(read.column("predicted").text(i), p(i, 1) >= .5 ? "yes" : "no");
  }
  TaskChanges changes;
  changes.flags.threshold = "rate=.2";
  EXPECT_ERROR(
      static_cast<void>(predict(model, DataSource::table(table), changes, sink, {})),
      ErrorKind::bad_option, "only training");
}

}  // namespace
}  // namespace fmd
