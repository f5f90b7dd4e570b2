#include "repro/spec.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/repro/reproduce.h"
#include "repro/experiment.h"
#include "repro/specs.h"
#include "support/close.h"

namespace fmd::repro {
namespace {

constexpr const char* kText = R"(name = "t"
title = "T"
source = "Table 0"
experiment = "coloured"
columns = ["accuracy", "bias"]
notes = ["a note"]
K = 5
lambda = [1, 10]
by = "adam"
[quick]
K = 1
[[rows]]
id = "a"
method = "vanilla"
title = "A"
K = 7
[[cases]]
name = "one"
title = "One"
lambda = [3]
[cases.paper]
a = [71.5]
[cases.bar]
a = [nan, 0.1]
)";

TEST(Spec, CasesAndRowsOverrideWhatHoldsForAllAndQuickOverridesThem) {
  const Spec spec = parse_spec(kText, "t.toml");
  EXPECT_EQ(spec.notes, std::vector<std::string>{"a note"});
  const Settings settings = spec.all(spec.cases[0], false);
  EXPECT_EQ(settings.list("lambda"), std::vector<double>{3});
  EXPECT_EQ(settings.word("by"), "adam");
  const Unit full{&spec, &spec.cases[0], settings, 1, false};
  EXPECT_EQ(full.of(spec.rows[0]).count("K"), 7);
  const Unit quick{&spec, &spec.cases[0], spec.all(spec.cases[0], true), 1, true};
  EXPECT_EQ(quick.of(spec.rows[0]).count("K"), 1);
  EXPECT_EQ(spec.cases[0].paper.at("a")[0], 71.5);
  EXPECT_TRUE(std::isnan(spec.cases[0].paper.at("a")[1]));
  EXPECT_EQ(spec.cases[0].bar.at("a")[1], 0.1);
}

TEST(Spec, ComplaintsNameFileLineAndKey) {
  const std::string text = kText;
  const auto without = [&](const std::string& line) {
    std::string cut = text;
    return cut.erase(cut.find(line), line.size());
  };
  EXPECT_ERROR(parse_spec(without("title = \"T\"\n"), "t.toml"), ErrorKind::bad_task,
               "t.toml, line 1, key \"title\": must be a text");
  EXPECT_ERROR(parse_spec(text + "[[rows]]\nid = 3\n", "t.toml"), ErrorKind::bad_task,
               "t.toml, line 26, key \"id\"");
  EXPECT_ERROR(parse_spec("name = ", "t.toml"), ErrorKind::bad_task, "t.toml, line 1");
  EXPECT_ERROR(parse_spec(text, "t.toml").settings.number("lambda"), ErrorKind::bad_task,
               "\"lambda\" must be one number");
  EXPECT_ERROR(parse_spec(text, "t.toml").settings.number("mu"), ErrorKind::bad_task,
               "\"mu\" is not set");
}

TEST(Spec, EveryTableThatIsBuiltInIsConsistent) {
  std::set<std::string> names;
  for (const Spec& spec : specs()) {
    SCOPED_TRACE(spec.name);
    EXPECT_TRUE(names.insert(spec.name).second);
    EXPECT_NE(find_experiment(spec.experiment), nullptr);
    // A spec without columns is a figure alone.
    EXPECT_EQ(spec.rows.empty(), spec.columns.empty());
    if (spec.columns.empty()) continue;
    EXPECT_FALSE(spec.notes.empty());
    const std::map<std::string, std::string> others = {
        {"table3", "unb"}, {"table3_trained", "unb"}, {"table4", "ss"}};
    const auto other = others.find(spec.name);
    EXPECT_EQ(spec.columns[0], other == others.end() ? "accuracy" : other->second);
    std::set<std::string> ids;
    for (const SpecRow& row : spec.rows) EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    for (const SpecCase& c : spec.cases) {
      for (const auto& [id, figures] : c.paper) EXPECT_TRUE(ids.contains(id)) << id;
      for (const auto& [id, figures] : c.bar) EXPECT_TRUE(ids.contains(id)) << id;
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"toy", "table1", "table1_trained", "table2",
                                          "table2_trained", "table3", "table3_trained",
                                          "table4", "table5", "table6", "table7", "table8",
                                          "samples", "hessian", "pairs", "overview"}));
  EXPECT_ERROR(find_experiment("none"), ErrorKind::bad_task, "no experiment \"none\"");
}

TEST(Spec, AnUnknownTableIsNamedWithThoseThatAre) {
  EXPECT_ERROR(reproduce("table9", {}, {}), ErrorKind::bad_option,
               "no table \"table9\"; there are toy, table1");
  ReproduceOptions none;
  none.seeds.clear();
  EXPECT_ERROR(reproduce("toy", none, {}), ErrorKind::bad_option, "no seeds");
  ReproduceOptions absent;
  absent.data = "no/such/folder";
  EXPECT_ERROR(reproduce("toy", absent, {}), ErrorKind::missing_dataset,
               "no/such/folder/mnist/train-images-idx3-ubyte is not there");
}

}  // namespace
}  // namespace fmd::repro
