#include "fmd/pipeline/read.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/pipeline/study.h"
#include "support/parquet.h"

namespace fmd {
namespace {

const std::filesystem::path kFiles = std::filesystem::path(FMD_TEST_DIR) / "files";

std::vector<std::string> files() {
  std::vector<std::string> names = {"weights.csv", "weights.npy"};
  if (test::has_parquet()) names.push_back("weights.parquet");
  return names;
}

TEST(Read, CodesThatLookLikeNumbersAreCategoriesWhenTheTaskSaysSo) {
  Task task;
  task.types["zip"] = ColumnKind::category;
  for (const std::string& name : files()) {
    SCOPED_TRACE(name);
    const auto path = (kFiles / name).string();
    EXPECT_EQ(read_named(path, {}, "", test::parquet_exec()).column("zip").kind,
              ColumnKind::number);
    const Table table = read_named(path, csv_options(task), "", test::parquet_exec());
    EXPECT_EQ(table.source, path);
    EXPECT_EQ(table.column("x").numbers, (std::vector<double>{1, 2, 3, 4}));
    EXPECT_EQ(table.column("zip").levels,
              (std::vector<std::string>{"2138", "90210", "501"}));
    EXPECT_EQ(table.column("zip").codes, (std::vector<std::int32_t>{0, 1, 0, 2}));
  }
}

TEST(Read, WeightsComeFromEveryKindOfFile) {
  for (const std::string& name : files()) {
    SCOPED_TRACE(name);
    const Table table = read_named((kFiles / name).string(), {}, "", test::parquet_exec());
    EXPECT_EQ(row_weights(table, "w"), (std::vector<float>{1, 2.5F, 0.5F, 4}));
  }
}

}  // namespace
}  // namespace fmd
