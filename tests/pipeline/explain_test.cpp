#include "fmd/pipeline/explain.h"

#include <charconv>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "pipeline/pair_slices.h"
#include "pipeline/tables.h"

namespace fmd {
namespace {

// More rows than are sorted at once, with many equal changes among them.
TEST(ExplanationCsv, HasEveryRowInTheOrderOfItsChange) {
  constexpr Index kRows = 2'200'000;
  Rng rng(1, "changes");
  Explanation explained;
  explained.report.task.classes = {"no", "yes"};
  explained.report.measures.resize(1);
  explained.change.resize(kRows, 1);
  for (Index i = 0; i < kRows; ++i) {
    explained.change(i, 0) = rng.below(3) == 0 ? 0 : std::floor(1e4 * rng.normal());
    explained.train.y.push_back(static_cast<std::int32_t>(i % 2));
  }
  std::string text;
  ThreadPool pool(2);
  explained.write_csv([&](std::string_view part) { text += part; }, {.pool = &pool});
  EXPECT_TRUE(text.starts_with("row,label,change\n"));
  const char* at = text.data() + text.find('\n') + 1;
  const char* end = text.data() + text.size();
  Index lines = 0, before = -1;
  for (; at < end; ++lines) {
    Index number = 0;
    at = std::from_chars(at, end, number).ptr;
    const Index row = number - 1;
    ASSERT_EQ(std::string_view(at, row % 2 == 0 ? 4 : 5), row % 2 == 0 ? ",no," : ",yes,");
    at += row % 2 == 0 ? 4 : 5;
    double change = 0;
    at = std::from_chars(at, end, change).ptr + 1;
    ASSERT_EQ(change, explained.change(row, 0));
    if (before >= 0) {
      const double last = explained.change(before, 0);
      ASSERT_TRUE(last < change || (last == change && before < row)) << number;
    }
    before = row;
  }
  EXPECT_EQ(lines, kRows);
}

TEST(PairSlices, AddUpToAllPairs) {
  const Table table = test::number_of_columns(300'000, 1);
  const Model model = train_model(table, test::made_up_task(), "", {}, {}).model;
  Study study = make_study(model, table, model.task, true, {});
  const auto whole = [&] {
    const StudyPairs pairs = make_flip_pairs(model, study, 0, {});
    const PairSet set = pairs.set(study);
    MeasureData data;
    data.pairs = &set;
    return evaluate(*make_measure("co"), data, *model.head, model.theta, true, {});
  };
  const auto sliced = [&](Index slices) {
    const PairSlices parts(model, study, 0, true, {});
    EXPECT_EQ(parts.count(), slices);
    MeasureData data;
    data.parts = &parts;
    return evaluate(*make_measure("co"), data, *model.head, model.theta, true, {});
  };
  EXPECT_NEAR(sliced(2).value, whole().value, 1e-13);
  EXPECT_LT((sliced(2).gradient - whole().gradient).norm(), 1e-12);
  // A slice in which nobody's value is known is left out.
  auto& code = study.attributes[0].code;
  std::fill(code.begin() + 64 * kBlockRows, code.end(), -1);
  study.flips.reset();  // made of the old values
  EXPECT_EQ(sliced(1).value, whole().value);
}

}  // namespace
}  // namespace fmd
