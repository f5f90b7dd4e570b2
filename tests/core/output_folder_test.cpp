#include <system_error>

#include <gtest/gtest.h>

#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "support/close.h"
#include "support/kill.h"

namespace fs = std::filesystem;

namespace fmd {
namespace {

using test::contents;
using test::Contents;
using test::Folder;
using test::read_text;
using test::write_text;

// A receipt and a model that is a folder of two files, one of them a copy with a changed
// middle.
void write_folder(const Folder& folder, bool force) {
  OutputFiles files({.force = force});
  const auto out = folder / "out";
  files.reserve(folder / "out.receipt");
  files.reserve(out);
  files.reserve_folder(out);
  const FileView source = FileView::open(folder / "source");
  files.append(out / "a", source, 0, 3);
  files.append(out / "a", "XY");
  files.append(out / "a", source, 5, source.bytes().size());
  files.write(out / "b", "small");
  EXPECT_EQ(read_text(files.temporary(out / "a")), "012XY56789");
  files.write(folder / "out.receipt", "receipt");
  files.commit();
}

const Contents kBefore = {{"source", "0123456789"}};
const Contents kAfter = {{"source", "0123456789"},
                         {"out/a", "012XY56789"},
                         {"out/b", "small"},
                         {"out.receipt", "receipt"}};

}  // namespace

TEST(OutputFolder, AppearsWholeOrNotAtEveryKill) {
  int calls = 0, finished = 0;
  for (;; ++calls) {
    const Folder folder;
    write_text(folder / "source", "0123456789");
    const bool stopped = test::killed(calls, [&] { write_folder(folder, false); });
    SCOPED_TRACE("killed before call " + std::to_string(calls));
    if (fs::exists(folder / "out")) {
      EXPECT_EQ(read_text(folder / "out/a"), "012XY56789");
      EXPECT_EQ(read_text(folder / "out/b"), "small");
      EXPECT_EQ(read_text(folder / "out.receipt"), "receipt");
    }
    recover(folder / "out");
    EXPECT_TRUE(contents(folder) == kBefore || contents(folder) == kAfter);
    EXPECT_TRUE(fs::exists(folder / "out") || !fs::exists(folder / ".out.fmd-tmp"));
    finished += fs::exists(folder / "out");
    if (!fs::exists(folder / "out")) {  // the next run is not hindered by what is left
      write_folder(folder, false);
      EXPECT_EQ(contents(folder), kAfter);
    }
    if (!stopped || HasFailure()) break;
  }
  EXPECT_GT(calls, 15);
  EXPECT_GT(finished, 2);
}

TEST(OutputFolder, AFullDiskLeavesNothing) {
  int calls = 0;
  for (int at = 0;; ++at) {
    const Folder folder;
    write_text(folder / "source", "0123456789");
    calls = 0;
    disk::set_hook([&](const char* name) {
      const std::string call = name;
      if (++calls > at && (call == "create" || call == "write"))
        throw std::system_error(ENOSPC, std::generic_category());
    });
    bool failed = false;
    try {
      write_folder(folder, false);
    } catch (const Error& error) {
      failed = true;
      EXPECT_EQ(error.kind(), ErrorKind::cannot_write);
      EXPECT_EQ(std::string(error.what()).find("fmd-tmp"), std::string::npos);
    }
    disk::set_hook(nullptr);
    EXPECT_EQ(contents(folder), failed ? kBefore : kAfter) << at;
    EXPECT_EQ(fs::exists(folder / ".out.fmd-tmp"), false);
    if (!failed) break;
  }
  EXPECT_GT(calls, 15);
}

TEST(OutputFolder, AFolderThatExistsIsNeverReplaced) {
  const Folder folder;
  write_text(folder / "source", "0123456789");
  write_folder(folder, false);
  OutputFiles files({.force = true});
  EXPECT_ERROR(files.reserve_folder(folder / "out"), ErrorKind::output_exists,
               "never replaced");
  EXPECT_EQ(contents(folder), kAfter);
}

TEST(OutputFolder, TwoRunsCannotWriteOneFolder) {
  const Folder folder;
  OutputFiles first({.force = false}), second({.force = false});
  first.reserve_folder(folder / "out");
  EXPECT_ERROR(second.reserve_folder(folder / "out"), ErrorKind::cannot_write,
               "another run");
}

// The kernel does not copy between all file systems; then bytes are read and written.
TEST(OutputFolder, CopiesBetweenFileSystems) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 3'000'000; ++i) text += static_cast<char>(i % 253);
  write_text(folder / "source", text);
  const fs::path other =
      fs::temp_directory_path() / ("fmd-copy-" + folder.path().filename().string());
  {
    OutputFiles files({.force = false});
    const FileView source = FileView::open(folder / "source");
    files.append(other, source, 1, source.bytes().size() - 1);
    files.commit();
  }
  EXPECT_EQ(read_text(other), text.substr(1, text.size() - 2));
  EXPECT_EQ(
      sha256(FileView::open(other)),
      sha256({reinterpret_cast<const std::uint8_t*>(text.data()) + 1, text.size() - 2}));
  fs::remove(other);
}

TEST(FileViewPrivate, ChangesReachNobodyElse) {
  const Folder folder;
  write_text(folder / "a", "hello");
  FileView own = FileView::open_private(folder / "a");
  own.own_bytes()[0] = 'J';
  own.forget(0, 5);
  EXPECT_EQ(own.text(), "Jello");
  EXPECT_EQ(FileView::open(folder / "a").text(), "hello");
  EXPECT_TRUE(FileView::open(folder / "a").own_bytes().empty());
}

}  // namespace fmd
