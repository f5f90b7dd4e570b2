#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/model/passes.h"
#include "fmd/repro/reproduce.h"
#include "fmd/unlearn/solve.h"
#include "repro/coloured_mnist.h"
#include "repro/curves.h"
#include "repro/hessian_refresh.h"
#include "repro/samples.h"
#include "repro/specs.h"
#include "repro/support.h"
#include "repro/toy.h"
#include "support/close.h"

namespace fmd::repro {
namespace {

Unit quick_unit(const std::string& name, std::uint64_t seed) {
  for (const Spec& spec : specs())
    if (spec.name == name) {
      Unit unit{&spec, &spec.cases[0], spec.all(spec.cases[0], true), seed, true};
      unit.settings.numbers.erase("halve");  // the made-up digits are small
      return unit;
    }
  throw std::runtime_error("no such table");
}

std::vector<double> figures(const UnitResult& unit) {
  std::vector<double> values;
  for (const Measured& row : unit.rows) {
    values.push_back(row.value.at("accuracy"));
    values.push_back(row.value.at("bias"));
  }
  return values;
}

TEST(ColouredMnist, SameSeedSameFiguresForAnyNumberOfThreads) {
  World world = test::made_up_world();
  const Unit unit = quick_unit("table1", 3);
  const UnitResult alone = run_coloured(world, unit, {});
  ASSERT_EQ(alone.rows.size(), unit.spec->rows.size());
  ThreadPool pool(2);
  Exec two;
  two.pool = &pool;
  EXPECT_EQ(figures(run_coloured(world, unit, two)), figures(alone));
  EXPECT_NE(figures(run_coloured(world, quick_unit("table1", 4), {})), figures(alone));
}

TEST(ColouredMnist, FreshPairsDifferByEpochAndKeepTheirDigits) {
  World world = test::made_up_world();
  ColouredMnist colours(world, quick_unit("table1", 3), {});
  const Stage& stage = colours.stage(3);
  const auto values = [](const Rows& rows) {
    Scratch scratch;
    const FeatureBlock block = rows.block(0, scratch);
    return std::vector<float>(block.dense, block.dense + block.rows * block.cols);
  };
  const auto first = values(stage.problem.redraw(1)[0].cbar),
             second = values(stage.problem.redraw(2)[0].cbar);
  EXPECT_NE(first, second);
  EXPECT_EQ(values(stage.problem.redraw(1)[0].cbar), first);
  const PairSet pairs = stage.problem.redraw(2)[0];
  for (Index i = 0; i < pairs.size(); ++i)
    ASSERT_EQ(pairs.cbar.label(i), stage.edit.rows.y[static_cast<std::size_t>(i)]);
}

TEST(ColouredMnist, NoDigitIsInTwoParts) {
  World world = test::made_up_world();
  ColouredMnist colours(world, quick_unit("table1", 3), {});
  colours.use(100);
  EXPECT_EQ(colours.stage(1).edit.rows.X->rows(), 80);
  EXPECT_EQ(colours.stage(1).holdout.rows.X->rows(), 20);
  EXPECT_EQ(colours.stage(1).report.rows.X->rows(), 400);  // half of the 800 test digits
}

TEST(Toy, AnEditInTheSpanIsTheEditOnAllPixels) {
  World world = test::made_up_world();
  const Toy toy(world, quick_unit("toy", 3), {});
  const Stage &full = toy.stage(false), &span = toy.stage(true);
  const auto logits = [](const Stage& stage, const Vector& theta) {
    return all_logits(*stage.head, stage.report.rows.rows(), theta, {});
  };
  EXPECT_CLOSE(logits(span, span.problem.theta), logits(full, full.problem.theta), 1e-5);
  SolveOptions options;
  options.anchor = 0.5;
  options.fit = 1;
  options.lambda = 3;
  options.mu = 0.01;
  const Vector in_span = solve(*span.head, span.problem.theta, span.edit.pairs.c.rows(),
                               span.edit.pairs.sets, options, {})
                             .theta;
  const Vector on_all = solve(*full.head, full.problem.theta, full.edit.pairs.c.rows(),
                              full.edit.pairs.sets, options, {})
                            .theta;
  ASSERT_GT((on_all - full.problem.theta).norm(), 1e-3);
  EXPECT_CLOSE(logits(span, in_span), logits(full, on_all), 1e-4);
  EXPECT_CLOSE(toy.on_pixels(in_span), on_all, 1e-3);
}

TEST(Toy, LeavesWhatItsPicturesNeed) {
  World world = test::made_up_world();
  Unit unit = quick_unit("toy", 3);
  const UnitResult result = run_toy(world, unit, {});
  const auto json = nlohmann::json::parse(result.pictures);
  EXPECT_EQ(json.at("harmful").size(), 10U);
  EXPECT_LT(json.at("harmful")[0].at("change").get<double>(),
            json.at("helpful")[0].at("change").get<double>());
  EXPECT_EQ(json.at("harmful")[0].at("grey").get<std::string>().size(), 32U);
  EXPECT_FALSE(json.at("decisions").at("vanilla").empty());
  EXPECT_EQ(json.at("curves").at("solve").size(), 11U);
}

TEST(Hessian, RefreshedAndConstantBeginAlike) {
  World world = test::made_up_world();
  const UnitResult result = run_hessian(world, quick_unit("hessian", 3), {});
  ASSERT_EQ(result.rows.size(), 4U);
  EXPECT_NE(result.rows[2].value.at("accuracy"), 0);
}

TEST(Samples, EachSizeHasItsRows) {
  World world = test::made_up_world();
  const Unit unit = quick_unit("samples", 3);
  const UnitResult result = run_samples(world, unit, {});
  const std::size_t rows = unit.spec->rows.size();
  ASSERT_EQ(result.rows.size(), 2 * rows);
  EXPECT_EQ(result.rows[0].id, "vanilla@50");
  EXPECT_EQ(result.rows[rows].id, "vanilla@200");
  EXPECT_EQ(result.rows[0].value.at("accuracy"), result.rows[rows].value.at("accuracy"));
  EXPECT_EQ(result.rows[2].value.at("rows"), 40);
}

TEST(Reproduce, TablesAreWrittenWithPaperOursAndBar) {
  ReproducedTable table;
  table.name = "toy";
  table.title = "Toy";
  table.source = "Table 0";
  table.columns = {"accuracy", "bias"};
  ReproducedRow row;
  row.id = row.title = "solve";
  row.paper = {{"accuracy", 90}};
  row.bar = {{"accuracy", 85}, {"bias", 0.1}};
  row.ours = {{"accuracy", seed_mean({86, 88})}, {"bias", seed_mean({0.2, 0.1})}};
  table.cases = {{"c", "Case", {row}, {}, ""}};
  table.notes = {"nothing"};
  table.seeds = {1, 2};
  const std::string text = to_markdown(table);
  EXPECT_NE(text.find("| row | paper: accuracy | accuracy | bias | ours - paper | bar |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| solve | 90.00 | 87.00 [74.29, 99.71] |"), std::string::npos);
  EXPECT_NE(text.find("| -3.00 | >= 85.00"), std::string::npos);
  EXPECT_NE(text.find(">= 85.00, <= 0.1000: not reached"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(table));
  EXPECT_EQ(json.at("cases")[0].at("rows")[0].at("ours").at("bias").at("seeds"), 2);
}

TEST(Reproduce, RowsOfAnotherTableStandBelowThoseOfThePage) {
  const auto row = [](const std::string& id, std::vector<double> accuracy) {
    ReproducedRow made;
    made.id = made.title = id;
    made.ours = {{"accuracy", seed_mean(accuracy)}};
    return made;
  };
  ReproducedTable page, more;
  page.columns = more.columns = {"accuracy"};
  page.seeds = {1, 2};
  page.cases = {{"a", "A", {row("vanilla", {80, 81})}, {}, ""}, {"b", "B", {}, {}, ""}};
  more.name = "page_trained";
  more.seeds = {1};
  more.notes = {"trained"};
  more.cases = {{"a", "A", {row("vanilla", {70}), row("lff", {75})}, {}, ""},
                {"other", "O", {row("ldr", {60})}, {}, ""}};
  const ReproducedTable both = joined(page, more);
  ASSERT_EQ(both.cases.size(), 2U);
  ASSERT_EQ(both.cases[0].rows.size(), 2U);  // its own vanilla row stays
  EXPECT_EQ(both.cases[0].rows[0].ours.at("accuracy").mean, 80.5);
  EXPECT_EQ(both.cases[0].rows[1].id, "lff");
  EXPECT_EQ(both.cases[0].rows[1].chosen, "1 seed");
  EXPECT_TRUE(both.cases[1].rows.empty());
  ASSERT_EQ(both.notes.size(), 2U);
  EXPECT_NE(both.notes[0].find("fmd reproduce page_trained"), std::string::npos);
  EXPECT_EQ(shown_beside("table1_trained"), "table1");
  EXPECT_EQ(shown_beside("table1"), "");
}

TEST(Reproduce, CurvesHaveTheFiguresOfTheirSteps) {
  Curves curves({"accuracy", "bias"});
  EXPECT_EQ(curves.json(), "");
  curves.add("lff", {.steps = 20, .curve = {{10, {70, .2}}, {20, {75, .1}}}});
  const auto json = nlohmann::json::parse(curves.json());
  EXPECT_EQ(json.at("curves").at("lff")[1],
            (nlohmann::json{{"step", 20}, {"accuracy", 75.0}, {"bias", .1}}));
  BaselineCandidate candidate;
  candidate.training.steps = 20;
  EXPECT_EQ(training_text(candidate), "20 steps");
  candidate.setting = "rho=5";
  EXPECT_EQ(training_text(candidate), "rho=5; 20 steps");
}

}  // namespace
}  // namespace fmd::repro
