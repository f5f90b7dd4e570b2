#include "data/columnar/parquet_rows.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "support/close.h"
#include "support/files.h"
#include "support/parquet.h"
#include "support/tables.h"

namespace fmd {
namespace {

using test::kFiles;

class Parquet : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_parquet()) GTEST_SKIP() << "the Parquet plug-in is not built";
  }
};

// The table as read from the CSV file with the same rows, with rows in place of lines.
Table twin(const CsvOptions& options = {}) {
  Table table = read_csv(kFiles / "types.csv", options);
  const Index rows = table.rows();
  table.line.clear();
  table.line.append(1, rows);
  table.line.count_rows();
  return table;
}

TEST_F(Parquet, EveryTypeReadsAsItsCsvTwin) {
  EXPECT_EQ(test::difference(read_table(kFiles / "types.parquet", {}, test::parquet_exec()),
                             twin()),
            "");
  ThreadPool pool(3);
  Exec on_pool = test::parquet_exec();
  on_pool.pool = &pool;
  EXPECT_EQ(test::difference(read_table(kFiles / "types.parquet", {}, on_pool), twin()),
            "");
}

TEST_F(Parquet, KindsCanBeGiven) {
  const CsvOptions options{.types = {{"zip", ColumnKind::category},
                                     {"i64", ColumnKind::category},
                                     {"f32", ColumnKind::category},
                                     {"dec", ColumnKind::category}},
                           .keep = {"zip", "i64", "f32", "dec", "text"}};
  EXPECT_EQ(
      test::difference(read_table(kFiles / "types.parquet", options, test::parquet_exec()),
                       twin(options)),
      "");
  EXPECT_ERROR(read_table(kFiles / "types.parquet",
                          {.types = {{"text", ColumnKind::number}}}, test::parquet_exec()),
               ErrorKind::bad_value,
               "types.parquet, row 1, column \"text\": \"a\" is not a number");
}

TEST_F(Parquet, BlocksAreTheTable) {
  const OpenFile file = InputFile::open(kFiles / "types.parquet");
  for (const Index rows : {1, 2, 3, 5, 100}) {
    const auto source = open_parquet_rows(file, {}, test::parquet_exec());
    for (int pass = 0; pass < 2; ++pass) {
      Table table;
      Table block;
      while (source->next(block, rows)) test::append_block(table, block);
      EXPECT_EQ(test::difference(table, twin()), "") << rows;
      EXPECT_EQ(source->share(), 1);
      source->rewind();
    }
  }
}

TEST_F(Parquet, AColumnWithPartsIsNamedUnlessItIsLeftOut) {
  EXPECT_ERROR(read_table(kFiles / "nested.parquet", {}, test::parquet_exec()),
               ErrorKind::unsupported, "nested.parquet, column \"list\"");
  const Table table =
      read_table(kFiles / "nested.parquet", {.keep = {"a", "b"}}, test::parquet_exec());
  EXPECT_EQ(table.column("b").levels, (std::vector<std::string>{"x", "y"}));
}

TEST(ParquetLibrary, WhereThereIsNoneTheErrorSaysWhatToInstall) {
  const BackendFiles absent = {{"parquet", {"/nowhere/fmd_parquet.so"}}};
  EXPECT_ERROR(read_table(kFiles / "small.parquet", {}, {.backends = &absent}),
               ErrorKind::unsupported, "small.parquet: a Parquet file needs the plug-in");
}

}  // namespace
}  // namespace fmd
