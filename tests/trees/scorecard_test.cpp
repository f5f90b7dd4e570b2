#include "fmd/formats/scorecard.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/csv.h"
#include "fmd/formats/model_file.h"
#include "fmd/model/passes.h"
#include "support/close.h"

namespace fmd {
namespace {

const char* const kCard =
    "feature,coefficient\n(Intercept),-1.5\nage,0.25\nsex=Male,0.5\njob=cook,-2\njob=clerk,"
    "1\n";

Table card(const std::string& text) {
  return parse_csv(text, "card.csv", {.types = {{"feature", ColumnKind::category}}});
}

Task two_classes() {
  Task task;
  task.label = "approved";
  task.classes = {"no", "yes"};
  return task;
}

}  // namespace

TEST(Scorecard, LogOddsByHandAlsoAfterAFile) {
  const Model made = read_scorecard(card(kCard), two_classes());
  const Model model = parse_model(model_bytes(made), "card.safetensors");
  const Table rows = parse_csv("age,sex,job\n4,Male,cook\n8,Female,clerk\n,Other,baker\n",
                               "rows.csv", {.types = model.backbone->inputs().types()});
  const auto X = model.backbone->features(rows, {}, {});
  Rows view;
  view.X = X.get();
  Matrix want(3, 1);
  want << -1.5 + 1 + 0.5 - 2, -1.5 + 2 + 1, -1.5;
  EXPECT_CLOSE(all_logits(*model.head, view, model.theta, {}), want, 1e-15);
}

TEST(Scorecard, MistakesAreNamed) {
  const auto read = [](const std::string& text) {
    return read_scorecard(card(text), two_classes());
  };
  EXPECT_ERROR(read("feature,coefficient\nage,1\nage,2\n"), ErrorKind::bad_value,
               "card.csv, line 3: \"age\" appears twice");
  EXPECT_ERROR(read("feature,coefficient\nage,1\nage=4,2\n"), ErrorKind::bad_value,
               "a number here and a category elsewhere");
  EXPECT_ERROR(read("feature,coefficient\nage,\nsex,1\n"), ErrorKind::bad_value,
               "\"age\" has no coefficient");
  EXPECT_ERROR(read("feature,coefficient\n(Intercept),1\n"), ErrorKind::bad_data,
               "names no column");
  EXPECT_ERROR(read("feature,coefficient\njob=,1\n"), ErrorKind::bad_value,
               "names no level");
  EXPECT_ERROR(read("column,coefficient\nage,1\n"), ErrorKind::missing_column, "feature");
}

}  // namespace fmd
