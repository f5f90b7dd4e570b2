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

TEST(FileView, TakesNoMemoryForAFileThatIsTooLarge) {
  const test::Folder folder;
  test::write_text(folder / "a", "");
  std::filesystem::resize_file(folder / "a", std::uintmax_t{1} << 40);  // a hole
  EXPECT_ERROR(FileView::open(folder / "a", 1000), ErrorKind::cannot_read,
               "1099511627776 bytes, at most 1000 are read");
}

TEST(InputFile, ReadsPieces) {
  const test::Folder folder;
  test::write_text(folder / "a", "0123456789");
  const auto file = InputFile::open(folder / "a");
  EXPECT_EQ(file->size(), 10);
  Bytes piece(3);
  file->read(4, piece);
  EXPECT_EQ(piece, (Bytes{'4', '5', '6'}));
  EXPECT_EQ(file->first(2), (Bytes{'0', '1'}));
  EXPECT_EQ(file->first(99).size(), 10u);
  EXPECT_ERROR(file->read(8, piece), ErrorKind::cannot_read, "it ends too early");
  const Bytes bytes{1, 2, 3};
  EXPECT_EQ(InputFile::in_memory(bytes, "m")->first(2), (Bytes{1, 2}));
}

// A mapped file would end the program by a signal here.
TEST(InputFile, AFileThatShrinksOrChangesWhileItIsReadIsAnError) {
  const test::Folder folder;
  const auto path = folder / "a";
  test::write_text(path, std::string(100'000, 'x'));
  Bytes piece(1000);
  auto file = InputFile::open(path);
  file->read(90'000, piece);
  std::filesystem::resize_file(path, 50'000);
  EXPECT_ERROR(file->read(90'000, piece), ErrorKind::cannot_read,
               "a: it became shorter while it was read");
  EXPECT_ERROR(file->read(0, piece), ErrorKind::cannot_read, "it became shorter");
  file = InputFile::open(path);
  std::filesystem::resize_file(path, 60'000);
  EXPECT_ERROR(file->read(0, piece), ErrorKind::cannot_read,
               "it changed while it was read");
  file = InputFile::open(path);
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_ERROR(file->read(0, piece), ErrorKind::cannot_read,
               "it changed while it was read");
}

TEST(InputFile, RefusesDevices) {
  EXPECT_ERROR((void)InputFile::open("/dev/zero"), ErrorKind::cannot_read,
               "it is a device");
  EXPECT_EQ(InputFile::open("/dev/null")->size(), 0);
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
