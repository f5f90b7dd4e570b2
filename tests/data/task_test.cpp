#include "fmd/data/task.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/csv.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using Texts = std::vector<std::string>;

using test::parse;

TaskOverrides read_toml(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / "fmd_task_test.toml";
  std::ofstream(path) << text;
  const TaskOverrides result = read_task(path);
  std::filesystem::remove(path);
  return result;
}

Task full_task() {
  Task task;
  task.label = "income";
  task.classes = {"low", "high"};
  task.favorable = "high";
  task.threshold = 0.1 + 0.2;
  task.rate = 1.0 / 3;
  task.attributes = {{.name = "sex", .columns = {"sex"}},
                     {.name = "origin",
                      .columns = {"race", "birthplace"},
                      .pairs = "given:twins.csv",
                      .values = {"a / b", "ü / \"d\""},
                      .reference = "a / b"}};
  task.weight = "w";
  task.id = "key";
  task.ignore = {"zip"};
  task.types = {{"age", ColumnKind::number}, {"code", ColumnKind::category}};
  task.unseen = Unseen::bucket;
  task.limits = {{.measure = "co", .attribute = "sex", .value = 0.02}};
  task.min_group = 7;
  task.min_label = 3;
  return task;
}

TEST(ParseAttribute, AColonAndANumberAskForQuantiles) {
  EXPECT_EQ(parse_attribute("age:4"), (AttributeSpec{.name = "age", .quantiles = 4}));
  EXPECT_EQ(parse_attribute("a:b"), (AttributeSpec{.name = "a:b"}));
  EXPECT_EQ(parse_attribute("a:"), (AttributeSpec{.name = "a:"}));
  EXPECT_EQ(parse_attribute("a:b:10"), (AttributeSpec{.name = "a:b", .quantiles = 10}));
  for (const char* text : {"age:1", "age:0", "age:101", "age:99999999999999999999"})
    EXPECT_ERROR(parse_attribute(text), ErrorKind::bad_option,
                 "quantiles are from 2 to 100");
}

TEST(Task, RangesOfNumbersComeBack) {
  const TaskOverrides read = parse_task(
      "[[attributes]]\nname = \"age\"\nquantiles = 4\n"
      "[[attributes]]\nname = \"hours\"\ncuts = [20, 39.5, 41]\n",
      "task.toml");
  const Task task = merge({}, read);
  EXPECT_EQ(task.attributes[0].quantiles, 4);
  EXPECT_EQ(task.attributes[1].cuts, (std::vector<double>{20, 39.5, 41}));
  EXPECT_EQ(task_from_json(to_json(task), "again"), task);
  // A flag that names it keeps them, one that says more replaces them.
  EXPECT_EQ(merge(task, {.attributes = Texts{"age"}}).attributes[0].quantiles, 4);
  EXPECT_EQ(merge(task, {.attributes = Texts{"age:5"}}).attributes[0].quantiles, 5);
  EXPECT_ERROR(merge(task, {.attributes = Texts{"age:5", "age:4"}}), ErrorKind::bad_option,
               "\"age\" is asked for in two ways");
  Task wrong = task;
  wrong.attributes[0].values = {"1", "2"};
  EXPECT_ERROR(merge(wrong, {}), ErrorKind::bad_task, "more than one of values, quantiles");
}

TEST(TaskToml, ReadsEveryKey) {
  const TaskOverrides read = read_toml(R"(
label = "income"
positive = 1
classes = [0, 1]
favorable = "1"
threshold = "rate=.2"
weight = "w"
id = "key"
ignore = ["zip"]
unseen = "bucket"
min_group = 50
min_label = 5
[types]
code = "category"
[limits]
"co:sex" = 0.02
co = 1
[[attributes]]
name = "sex"
[[attributes]]
name = "origin"
columns = ["race", "place"]
pairs = "given:twins.csv"
values = ["a / b", "c / d"]
reference = "a / b"
)");
  const Task task = merge({}, read);
  EXPECT_EQ(task.label, "income");
  EXPECT_EQ(task.classes, (Texts{"0", "1"}));
  EXPECT_EQ(task.favorable_class(), 1);
  EXPECT_EQ(task.rate, 0.2);
  EXPECT_EQ(task.weight, "w");
  EXPECT_EQ(task.id, "key");
  EXPECT_EQ(task.ignore, (Texts{"zip"}));
  EXPECT_EQ(task.unseen, Unseen::bucket);
  EXPECT_EQ(task.min_group, 50);
  EXPECT_EQ(task.min_label, 5);
  EXPECT_EQ(task.types.at("code"), ColumnKind::category);
  ASSERT_EQ(task.limits.size(), 2U);
  ASSERT_EQ(task.attributes.size(), 2U);
  EXPECT_EQ(task.attributes[0], (AttributeSpec{.name = "sex", .columns = {"sex"}}));
  // Relative to the folder of task.toml.
  EXPECT_EQ(pairs_file(task.attributes[1]).filename(), "twins.csv");
  EXPECT_TRUE(pairs_file(task.attributes[1]).is_absolute());
  EXPECT_EQ(task.attributes[1].values, (Texts{"a / b", "c / d"}));
  EXPECT_EQ(read_toml("attributes = [\"sex\", \"race\"]").attributes,
            (Texts{"sex", "race"}));
}

// A stored task comes from somebody else. It must not lead to files that the user did not
// name.
TEST(TaskJson, AStoredTaskNamesPairsBesideItsFileOnly) {
  Task task = full_task();
  const auto stored = [&](const std::string& pairs) {
    task.attributes = {{.name = "sex", .columns = {"sex"}, .pairs = pairs}};
    task.limits.clear();
    return task_from_json(to_json(task), "/models/m").attributes[0];
  };
  EXPECT_EQ(pairs_file(stored("given:twins.csv")), "/models/twins.csv");
  for (const char* pairs : {"given:/etc/passwd", "given:../twins.csv", "given:a/b"})
    EXPECT_ERROR((void)pairs_file(stored(pairs)), ErrorKind::bad_task,
                 "not a plain name of a file beside it");
  // What a user names may be anywhere.
  Task read = task;
  read.attributes = {stored("given:/etc/passwd")};
  TaskOverrides flags;
  flags.pairs = "given:/data/twins.csv";
  EXPECT_EQ(pairs_file(merge(read, flags).attributes[0]), "/data/twins.csv");
}

TEST(TaskMerge, LeavesWhatIsNotSaid) { EXPECT_EQ(merge(full_task(), {}), full_task()); }

TEST(TaskMerge, PositiveSwapsKnownClasses) {
  EXPECT_EQ(merge(full_task(), {.positive = "low"}).classes, (Texts{"high", "low"}));
  EXPECT_EQ(merge(full_task(), {.positive = "high"}).classes, (Texts{"low", "high"}));
  EXPECT_TRUE(merge({}, {.positive = "high"}).classes.empty());
  EXPECT_ERROR(merge(full_task(), {.positive = "mid"}), ErrorKind::bad_option,
               "positive is \"mid\", must be one of low, high");
  EXPECT_ERROR(merge({}, {.positive = "a", .classes = Texts{"a", "b", "c"}}),
               ErrorKind::bad_option, "positive is for two classes; there are 3");
}

TEST(TaskMerge, ThresholdIsANumberOrARate) {
  const Task number = merge(full_task(), {.threshold = "0.3"});
  EXPECT_EQ(number.threshold, 0.3);
  EXPECT_FALSE(number.rate.has_value());
  EXPECT_EQ(merge({}, {.threshold = "rate=.2"}).rate, 0.2);
  for (const char* bad : {"0", "1", "-1", "abc", "rate=0", "rate=x", "", "nan"}) {
    EXPECT_ERROR(merge({}, {.threshold = bad}), ErrorKind::bad_option,
                 "must be a number between");
  }
}

TEST(TaskMerge, ANamedAttributeKeepsItsRicherSpec) {
  const Task task = merge(full_task(), {.attributes = Texts{"origin", "age", "origin"}});
  ASSERT_EQ(task.attributes.size(), 2U);
  EXPECT_EQ(task.attributes[0], full_task().attributes[1]);
  EXPECT_EQ(task.attributes[1], (AttributeSpec{.name = "age", .columns = {"age"}}));
  const std::vector<AttributeSpec> specs = {{.name = "origin", .columns = {"race"}}};
  EXPECT_EQ(merge(full_task(), {.attribute_specs = specs}).attributes, specs);
  EXPECT_EQ(merge(full_task(), {.pairs = "flip"}).attributes[1].pairs, "flip");
}

TEST(TaskMerge, ContradictionsAreNamed) {
  EXPECT_ERROR(merge(full_task(), {.favorable = "mid"}), ErrorKind::bad_task,
               "favorable is \"mid\", must be one of low, high");
  EXPECT_ERROR(merge(full_task(), {.attributes = Texts{"income"}}), ErrorKind::bad_task,
               "attribute \"income\" is the label");
  EXPECT_ERROR(merge(full_task(), {.weight = "income"}), ErrorKind::bad_task,
               "\"income\" is both label and weight");
  EXPECT_ERROR(merge({}, {.pairs = "given:"}), ErrorKind::bad_option,
               "must be flip, given:FILE, column:NAME, images, match");
  EXPECT_ERROR(merge({}, {.unseen = "no"}), ErrorKind::bad_option,
               "must be error or bucket");
  EXPECT_ERROR(merge({}, {.classes = Texts{"a", "a"}}), ErrorKind::bad_task,
               "appears twice");
}

TEST(TaskMerge, MatchedPairsHaveOptionsOfTheirOwn) {
  const std::string toml = R"(
[[attributes]]
name = "sex"
pairs = "match:overlap"
match_columns = ["age", "job"]
caliper = 0.25
reuse = 3
)";
  const Task task = merge({}, read_toml(toml));
  const AttributeSpec& spec = task.attributes.at(0);
  EXPECT_TRUE(is_match(spec));
  EXPECT_EQ(match_by(spec), "overlap");
  EXPECT_EQ(spec.match_columns, (Texts{"age", "job"}));
  EXPECT_EQ(spec.caliper, "0.25");
  EXPECT_EQ(spec.reuse, 3);
  EXPECT_EQ(task_from_json(to_json(task), "m"), task);
  // Another kind of pairs knows none of them; flags replace what the file says.
  const AttributeSpec flips = merge(task, {.pairs = "flip"}).attributes.at(0);
  EXPECT_EQ(flips, (AttributeSpec{.name = "sex", .columns = {"sex"}}));
  const AttributeSpec other = merge(task, {.caliper = "1sd", .reuse = 0}).attributes.at(0);
  EXPECT_EQ(other.caliper, "1sd");
  EXPECT_EQ(other.reuse, 0);
  EXPECT_EQ(match_by({.name = "sex", .pairs = "match"}), "mahalanobis");
  EXPECT_EQ(parse_pairs("given:a:b.csv")->detail, "a:b.csv");
  for (const char* text : {"flip", "given:x", "match", "match:cosine"})
    EXPECT_EQ(to_string(parse_pairs(text)->kind),
              std::string(text).substr(0, std::string(text).find(':')));
  for (const char* text :
       {"", "flip:x", "given", "given:", "match:", "match:near", "matched"})
    EXPECT_FALSE(parse_pairs(text)) << text;
  EXPECT_EQ(match_by({.name = "sex", .pairs = "match", .match_columns = {"age"}}),
            "overlap");
}

TEST(TaskMerge, MatchingThatMakesNoSenseIsNamed) {
  const Task task = merge({}, {.attributes = Texts{"sex"}});
  EXPECT_ERROR(merge(task, {.reuse = 2}), ErrorKind::bad_task, "reuse is for pairs match");
  EXPECT_ERROR(merge(task, {.caliper = "1"}), ErrorKind::bad_task,
               "a caliper is for pairs match");
  EXPECT_ERROR(merge(task, {.match_columns = Texts{"age"}}), ErrorKind::bad_task,
               "match_columns are for pairs match");
  EXPECT_ERROR(merge(task, {.pairs = "match:cosine", .match_columns = Texts{"age"}}),
               ErrorKind::bad_task, "match_columns are for pairs match:overlap");
  EXPECT_ERROR(merge(task, {.pairs = "match", .match_columns = Texts{"sex"}}),
               ErrorKind::bad_task, "matching by the attribute itself");
  EXPECT_ERROR(merge(task, {.pairs = "match", .caliper = "near"}), ErrorKind::bad_task,
               "caliper is \"near\"");
  EXPECT_TRUE(parse_caliper("2sd").deviations);
  EXPECT_EQ(parse_caliper("2sd").value, 2);
  EXPECT_TRUE(std::isinf(parse_caliper("").value));
}

TEST(TaskJson, ComesBackTheSame) {
  EXPECT_EQ(task_from_json(to_json(full_task()), "m"), full_task());
  EXPECT_EQ(task_from_json(to_json(Task{}), "m"), Task{});
}

TEST(TaskJson, TrustsNothing) {
  const std::string good = to_json(full_task());
  const auto edited = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return text;
  };
  const auto bad = [](const std::string& text, const std::string& message) {
    EXPECT_ERROR(task_from_json(text, "m.safetensors"), ErrorKind::bad_model, message);
  };
  bad("", "m.safetensors: damaged JSON");
  bad("[]", "m.safetensors: is not a JSON object");
  bad("{}", "m.safetensors: \"label\" is missing");
  bad(std::string(100000, '['), "nested 100000 deep");
  bad(edited("\"label\":\"income\"", "\"label\":7"), "\"label\" is 7, must be a text");
  // A file may have more levels than the stack has room for.
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  bad(edited("\"label\":\"income\"", "\"label\":[[1]]"), "\"label\" is a list");
  bad(edited("\"label\":\"income\"", "\"label\":" + deep), "nested 1000001 deep");
  bad(edited("[\"low\",\"high\"]", "[\"low\",null]"), "must be a list of texts");
  bad(edited("[\"low\",\"high\"]", "[\"low\",\"low\"]"), "the class \"low\" appears twice");
  bad(edited("\"min_group\":7", "\"min_group\":-7"), "must be a whole number >= 0");
  bad(edited("\"min_group\":7", "\"min_group\":1e300"), "must be a whole number >= 0");
  bad(edited("\"threshold\":0.30000000000000004", "\"threshold\":2"), "threshold is 2");
  bad(edited("\"threshold\":0.30000000000000004", "\"threshold\":1e999"), "damaged JSON");
  bad(edited("\"number\"", "\"double\""), "must be \"number\" or \"category\"");
  bad(edited("\"bucket\"", "\"drop\""), "\"unseen\" must be error or bucket");
  bad(edited("\"pairs\":\"flip\"", "\"pairs\":\"x\""), "pairs is \"x\"");
  bad(edited("\"value\":0.02", "\"value\":-1"), "limits 1: \"value\" must be >= 0");
}

TEST(Limits, AreReadAndWritten) {
  EXPECT_EQ(parse_limit("co:sex=.02"),
            (Limit{.measure = "co", .attribute = "sex", .value = 0.02}));
  EXPECT_EQ(to_string(parse_limit("co:sex=.02")), "co:sex=0.02");
  EXPECT_EQ(to_string(parse_limit("co=1e-3")), "co=0.001");
  for (const char* bad : {"co", "=1", "co=", "co=x", "co:=1", "co=-1", "co=nan", ""}) {
    EXPECT_ERROR(parse_limit(bad), ErrorKind::bad_option, "as in co=0.02 or co:sex=0.02");
  }
}

TEST(Labels, BecomeClassNumbers) {
  Task task;
  task.label = "y";
  task.classes = {"no", "yes"};
  EXPECT_EQ(labels(parse("y,x\nyes,1\nno,1\n?,1\n"), task),
            (std::vector<std::int32_t>{1, 0, -1}));
  EXPECT_ERROR(labels(parse("y,x\nyes,1\nmaybe,1\n"), task), ErrorKind::bad_value,
               "x.csv, line 3, column \"y\": the label \"maybe\" is not one of no, yes");
  EXPECT_ERROR(labels(parse("z\n1\n"), task), ErrorKind::missing_column, "no column \"y\"");
}

TEST(Labels, NumbersAreComparedByValue) {
  Task task;
  task.label = "y";
  task.classes = {"0", "1.0"};
  EXPECT_EQ(labels(parse("y,x\n1,1\n0,1\n,1\n"), task),
            (std::vector<std::int32_t>{1, 0, -1}));
  EXPECT_ERROR(labels(parse("y\n2\n"), task), ErrorKind::bad_value, "the label \"2\"");
  const Table category =
      parse_csv("y\n1\n00\n", "x.csv", {.types = {{"y", ColumnKind::category}}});
  EXPECT_EQ(labels(category, task), (std::vector<std::int32_t>{1, 0}));
}

TEST(LabelClasses, HaveAStableOrder) {
  EXPECT_EQ(label_classes(parse("y\nb\na\n?\n"), "y", ""), (Texts{"a", "b"}));
  EXPECT_EQ(label_classes(parse("y\nb\na\n"), "y", "a"), (Texts{"b", "a"}));
  EXPECT_EQ(label_classes(parse("y\n10\n9\n-1\n"), "y", ""), (Texts{"-1", "9", "10"}));
  const Table category =
      parse_csv("y\n10\n9\n", "x.csv", {.types = {{"y", ColumnKind::category}}});
  EXPECT_EQ(label_classes(category, "y", ""), (Texts{"9", "10"}));
  EXPECT_EQ(label_classes(parse("y\n0\n1\n"), "y", "0.0"), (Texts{"1", "0"}));
  EXPECT_ERROR(label_classes(parse("y\na\na\n"), "y", ""), ErrorKind::bad_data,
               "every row has the class \"a\"");
  EXPECT_ERROR(label_classes(parse("y,x\n?,1\n"), "y", ""), ErrorKind::bad_data,
               "no row has a label");
  EXPECT_ERROR(label_classes(parse("y\na\nb\n"), "y", "c"), ErrorKind::bad_option,
               "positive is \"c\", must be one of a, b");
  EXPECT_ERROR(label_classes(parse("y\na\nb\nc\n"), "y", "c"), ErrorKind::bad_option,
               "has 3 classes");
}

TEST(Task, FavorableIsPositiveUnlessSaid) {
  Task task;
  task.classes = {"no", "yes"};
  EXPECT_EQ(task.favorable_class(), 1);
  task.favorable = "no";
  EXPECT_EQ(task.favorable_class(), 0);
  task.classes = {"a", "b", "c"};
  task.favorable = "";
  EXPECT_EQ(task.favorable_class(), -1);
}

TEST(ParseTask, SaysHowNumbersAreWritten) {
  try {
    (void)parse_task("[limits]\nco = .02\n", "task.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.hint().c_str(), "numbers begin with a digit: 0.8, not .8");
  }
}

}  // namespace
}  // namespace fmd
