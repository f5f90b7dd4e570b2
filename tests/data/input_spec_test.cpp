#include "fmd/data/input_spec.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/task.h"
#include "support/close.h"

namespace fmd {
namespace {

constexpr const char* kInputs = R"(
[[inputs]]
name = "table"
columns = ["age", "hours"]
[[inputs]]
name = "face"
image = "file"
size = 72
crop = [64, 60]
channels = "bgr"
scale = 1
mean = [1, 2.5, 3]
std = 0.5
[[inputs]]
name = "x"
tensor = "*.npy"
)";

}  // namespace

TEST(InputSpec, IsReadFromToml) {
  const auto inputs = parse_task(kInputs, "task.toml").inputs.value();
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_EQ(inputs[0].columns, (std::vector<std::string>{"age", "hours"}));
  EXPECT_EQ(inputs[1].image, "file");
  EXPECT_EQ(inputs[1].size, std::vector<Index>{72});
  EXPECT_EQ(inputs[1].crop, (std::vector<Index>{64, 60}));
  EXPECT_EQ(inputs[1].channels, "bgr");
  EXPECT_EQ(inputs[1].mean, (std::vector<double>{1, 2.5, 3}));
  EXPECT_EQ(inputs[1].std, std::vector<double>{0.5});
  EXPECT_EQ(inputs[2].tensor, "*.npy");
}

TEST(InputSpec, ComesBackFromJson) {
  Task task;
  task.classes = {"a", "b"};
  task.inputs = parse_task(kInputs, "task.toml").inputs.value();
  EXPECT_EQ(task_from_json(to_json(task), "t"), task);
  EXPECT_EQ(to_json(Task{}).find("inputs"), std::string::npos);  // older files have none
}

TEST(InputSpec, WrongOnesAreNamed) {
  const auto expect = [](const std::string& text, const std::string& words) {
    EXPECT_ERROR(parse_task("[[inputs]]\n" + text, "task.toml"), ErrorKind::bad_task,
                 words);
  };
  expect("name = \"x\"", "exactly one of columns, image and tensor");
  expect("image = \"f\"\nsize = 0", "a side of 0");
  expect("image = \"f\"\nsize = 100000", "must be from 1 to 4096");
  expect("image = \"f\"\nmean = [1, 2]", "one for each of 3 channels");
  expect("image = \"f\"\nstd = [1, 0, 1]", "above 0");
  expect("columns = [\"a\"]\nscale = 2", "are for images");
  expect("columns = [\"a\"]\n[[inputs]]\ncolumns = [\"b\"]", "appears twice");
  EXPECT_ERROR(parse_task("inputs = 3", "t"), ErrorKind::bad_task, "[[inputs]]");
}

}  // namespace fmd
