#include "fmd/pipeline/source.h"

#include <fstream>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "support/arrow.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

class Source : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path("people.csv")) << "id,age\na,20\nb,30\nc,\n";
    std::ofstream(path("clubs.csv")) << "id,club\nc,red\nb,blue\na,red\n";
  }
  std::string path(const std::string& name) { return (folder_.path() / name).string(); }

  // The cells of all rows, in order.
  static std::string cells(const DataSource& source) {
    TableStream stream = source.open({}, {});
    std::string all;
    for (Table block; stream.next(block);)
      for (Index i = 0; i < block.rows(); ++i)
        for (const Column& column : block.columns) all += column.text(i) + ";";
    return all;
  }

  test::Folder folder_;
};

TEST_F(Source, EveryKindGivesTheSameRows) {
  const DataSource file = DataSource::file(path("people.csv"));
  const Table table = file.read({}, {});
  EXPECT_EQ(cells(file), "a;20;b;30;c;;");
  EXPECT_EQ(cells(DataSource::table(table)), cells(file));
  test::ArrowTable made(table, 2);
  ArrowArrayStream stream = made.stream();
  const DataSource arrow = DataSource::arrow(&stream, "people");
  EXPECT_EQ(cells(arrow), cells(file));
  EXPECT_EQ(arrow.read({}, {}).column("age").numbers[1], 30);
  EXPECT_TRUE(file.in_blocks() && arrow.in_blocks());
  EXPECT_FALSE(DataSource::table(table).in_blocks());
  EXPECT_EQ(file.sha256().size(), 64u);
  EXPECT_EQ(arrow.sha256() + DataSource::table(table).sha256(), "");
}

TEST_F(Source, GroupsAreJoinedToAnyOfThem) {
  const GroupsFile clubs{path("clubs.csv"), "id"};
  const DataSource file = DataSource::file(path("people.csv"));
  const std::string expected = "a;20;red;b;30;blue;c;;red;";
  EXPECT_EQ(cells(file.joined(clubs)), expected);
  EXPECT_FALSE(file.joined(clubs).in_blocks());
  EXPECT_EQ(cells(DataSource::table(file.read({}, {})).joined(clubs)), expected);
  EXPECT_EQ(cells(file.joined(clubs).loaded({}, {})), expected);
  EXPECT_EQ(cells(file.joined({})), cells(file));
  EXPECT_ERROR((void)file.joined({path("clubs.csv"), ""}), ErrorKind::bad_option,
               "--groups needs --key");
}

TEST_F(Source, AnAbsentFileIsAnErrorWhenItIsOpened) {
  const DataSource absent = DataSource::file(path("absent.csv"));
  EXPECT_EQ(absent.bytes(), 0u);
  EXPECT_ERROR((void)absent.open({}, {}), ErrorKind::cannot_read, "absent.csv");
}

}  // namespace
}  // namespace fmd
