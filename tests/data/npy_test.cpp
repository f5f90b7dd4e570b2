#include "fmd/data/npy.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/data/table_stream.h"
#include "support/close.h"
#include "support/files.h"
#include "support/tables.h"

namespace fmd {
namespace {

using test::kFiles;
using Numbers = std::vector<double>;

TEST(Npy, EveryTypeAndOrderGivesTheSameColumns) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFiles)) {
    if (!entry.path().filename().string().starts_with("matrix_")) continue;
    SCOPED_TRACE(entry.path());
    ++files;
    const Table table = read_npy(entry.path());
    ASSERT_EQ(table.columns.size(), 3U);
    EXPECT_EQ(table.columns[0].name, "x0");
    EXPECT_EQ(table.columns[0].numbers, (Numbers{1, 4}));
    EXPECT_EQ(table.column("x2").numbers, (Numbers{3, 6}));
    EXPECT_EQ(table.where(1), entry.path().string() + ", row 2");
  }
  EXPECT_EQ(files, 12);
}

TEST(Npy, FloatsInTheOrderOfRowsAreUsedInPlace) {
  const auto read = [](const char* name) {
    const FileView file = FileView::open(kFiles / name);
    const float* floats = parse_npy(file.bytes(), name).floats();
    return floats == nullptr ? std::vector<float>()
                             : std::vector<float>(floats, floats + 6);
  };
  EXPECT_EQ(read("matrix_C_le_f4.npy"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(read("matrix_F_le_f4.npy").empty());
  EXPECT_TRUE(read("matrix_C_be_f8.npy").empty());
}

TEST(Npy, FieldsHaveNamesAndNaNIsMissing) {
  const Table table = read_npy(kFiles / "fields.npy");
  EXPECT_EQ(table.column("x").numbers[0], 1.5);
  EXPECT_EQ(table.column("x").missing, 1);
  EXPECT_EQ(table.column("zip").numbers, (Numbers{2138, 501}));
  EXPECT_EQ(table.column("ok").numbers, (Numbers{1, 0}));
  EXPECT_EQ(read_npy(kFiles / "list.npy").column("x0").missing, 1);
}

TEST(Npy, CodesThatLookLikeNumbersCanBeCategories) {
  const Table table = read_table(
      kFiles / "fields.npy", {.types = {{"zip", ColumnKind::category}}, .keep = {"zip"}});
  ASSERT_EQ(table.columns.size(), 1U);
  EXPECT_EQ(table.columns[0].levels, (std::vector<std::string>{"2138", "501"}));
  EXPECT_EQ(table.columns[0].codes, (std::vector<std::int32_t>{0, 1}));
}

TEST(Npy, NamesCanBeGiven) {
  const auto path = kFiles / "matrix_C_le_f4.npy";
  EXPECT_EQ(read_npy(path, {.names = {"a", "b", "c"}}).columns[2].name, "c");
  EXPECT_ERROR(read_npy(path, {.names = {"a"}}), ErrorKind::bad_option,
               "1 names for 3 columns");
}

TEST(Npy, AStreamIsTheTable) {
  const auto path = kFiles / "fields.npy";
  TableStream stream = TableStream::open(path, {}, {});
  Table block;
  for (int pass = 0; pass < 2; ++pass) {
    ASSERT_TRUE(stream.next(block));
    EXPECT_EQ(test::difference(block, read_npy(path)), "");
    EXPECT_FALSE(stream.next(block));
    EXPECT_EQ(stream.share(), 1);
    stream.rewind();
  }
}

}  // namespace
}  // namespace fmd
