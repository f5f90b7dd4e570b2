#include "fmd/data/arrow.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "support/arrow.h"
#include "support/close.h"

namespace fmd {
namespace {

Table people() {
  std::string text = "age,city\n";
  for (int i = 0; i < 100; ++i)
    text += (i % 7 == 0 ? "" : std::to_string(20 + i % 50)) + "," +
            (i % 11 == 0 ? "" : "city " + std::to_string(i / 30)) + "\n";
  return parse_csv(text, "people");
}

TEST(Arrow, AStreamIsTheTableItWasMadeFrom) {
  const Table table = people();
  test::ArrowTable made(table, 32);
  ArrowArrayStream stream = made.stream();
  {
    const auto batches = std::make_shared<const ArrowBatches>(&stream, "people");
    EXPECT_EQ(stream.release, nullptr) << "the stream was taken over";
    EXPECT_EQ(made.released, 1);
    EXPECT_EQ(made.held, 4);
    EXPECT_EQ(batches->rows(), 100);
    TableStream rows = TableStream::of(batches, {}, {});
    EXPECT_EQ(rows.names(), (std::vector<std::string>{"age", "city"}));
    for (int pass = 0; pass < 2; ++pass, rows.rewind()) {
      Table block;
      ASSERT_TRUE(rows.next(block));
      ASSERT_EQ(block.rows(), table.rows());
      for (Index i = 0; i < 100; ++i)
        for (std::size_t c = 0; c < 2; ++c)
          ASSERT_EQ(block.columns[c].text(i), table.columns[c].text(i));
      EXPECT_EQ(block.columns[0].missing, table.columns[0].missing);
      EXPECT_EQ(block.where(3), "people, row 4");
      EXPECT_FALSE(rows.next(block));
    }
  }
  EXPECT_EQ(made.held, 0) << "every batch was released";
}

TEST(Arrow, KindsAndColumnsAreThoseThatWereAskedFor) {
  test::ArrowTable made(people(), 100);
  ArrowArrayStream stream = made.stream();
  TableStream rows =
      TableStream::of(std::make_shared<const ArrowBatches>(&stream, "people"),
                      {.types = {{"age", ColumnKind::category}}, .keep = {"age"}}, {});
  Table block;
  ASSERT_TRUE(rows.next(block));
  ASSERT_EQ(block.columns.size(), 1u);
  EXPECT_EQ(block.columns[0].kind, ColumnKind::category);
  EXPECT_EQ(block.columns[0].text(1), "21");
}

TEST(Arrow, WhatIsNoTableIsRefused) {
  const Table table = people();
  test::ArrowTable made(table, 32);
  ArrowArrayStream list = made.stream("+l");
  EXPECT_ERROR(ArrowBatches(&list, "lists"), ErrorKind::unsupported,
               "lists: the Arrow stream is no table: its type is \"+l\"");
  ArrowArrayStream broken = made.stream("+s", true);
  EXPECT_ERROR(ArrowBatches(&broken, "people"), ErrorKind::bad_data,
               "people: the Arrow stream reports: the disk is gone");
  EXPECT_EQ(made.released, 2);
  EXPECT_EQ(made.held, 0);
  EXPECT_ERROR(ArrowBatches(&broken, "people"), ErrorKind::bad_data,
               "people: the Arrow stream has been released");
}

}  // namespace
}  // namespace fmd
