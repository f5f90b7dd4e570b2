#include "fmd/core/file.h"

#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/folder.h"

namespace fmd {

TEST(FileView, ShowsTheBytesOfAFile) {
  const test::Folder folder;
  test::write_text(folder / "a", std::string("x\0y\n", 4));
  FileView view = FileView::open(folder / "a");
  EXPECT_EQ(view.text(), std::string_view("x\0y\n", 4));
  FileView moved = std::move(view);
  EXPECT_EQ(moved.bytes().size(), 4u);
  test::write_text(folder / "empty", "");
  moved = FileView::open(folder / "empty");
  EXPECT_EQ(moved.text(), "");
}

TEST(FileView, ReadsPipesAndFilesWithoutASize) {
  EXPECT_NE(FileView::open("/proc/self/status").text().find("Name:"),
            std::string_view::npos);
  const test::Folder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text(300'000, 'p');
  std::thread writer([&] { test::write_text(pipe, text); });
  EXPECT_EQ(FileView::open(pipe).text(), text);
  writer.join();
}

TEST(FileView, SaysWhyAFileCannotBeRead) {
  const test::Folder folder;
  EXPECT_ERROR(FileView::open(folder / "absent.csv"), ErrorKind::cannot_read,
               "absent.csv: there is no such file");
  EXPECT_ERROR(FileView::open(folder.path()), ErrorKind::cannot_read, "it is a folder");
  test::write_text(folder / "file", "");
  EXPECT_ERROR(FileView::open(folder / "file/below"), ErrorKind::cannot_read,
               "no such file");
}

}  // namespace fmd
