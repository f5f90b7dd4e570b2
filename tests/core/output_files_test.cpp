#include "fmd/core/output_files.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fmd/core/file.h"
#include "support/close.h"
#include "support/kill.h"

namespace fs = std::filesystem;

namespace fmd {

using test::contents;
using test::Contents;
using test::Folder;
using test::read_text;
using test::whole_set;
using test::write_set;
using test::write_text;

TEST(OutputFiles, AppearWithTheirContentsAndNothingElse) {
  const Folder folder;
  write_set(folder, "1", false);
  EXPECT_EQ(contents(folder), whole_set("1"));
  write_set(folder, "2", true);
  EXPECT_EQ(contents(folder), whole_set("2"));
}

TEST(OutputFiles, ANamelessFileIsNeverSeen) {
  const test::Folder folder;
  OutputFiles files({});
  files.reserve_nameless(folder / "rows");
  files.append(folder / "rows", "a,b");
  files.write(folder / "out", "x");
  EXPECT_EQ(FileView::open(files.temporary(folder / "rows")).text(), "a,b");
  EXPECT_EQ(std::filesystem::status(files.temporary(folder / "rows")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_FALSE(std::filesystem::exists(folder / ".rows.fmd-tmp"));
  files.commit();
  EXPECT_TRUE(std::filesystem::exists(folder / "out"));
  EXPECT_FALSE(std::filesystem::exists(folder / "rows"));
}

TEST(OutputFiles, AreSeenOnlyAfterCommit) {
  const Folder folder;
  OutputFiles files({});
  files.write(folder / "a", "first");
  files.write(folder / "a", "2nd");
  EXPECT_FALSE(fs::exists(folder / "a"));
  EXPECT_EQ(read_text(files.temporary(folder / "a")), "2nd");
  files.commit();
  EXPECT_EQ(contents(folder), (Contents{{"a", "2nd"}}));
}

TEST(OutputFiles, LeaveNothingWithoutCommit) {
  const Folder folder;
  {
    OutputFiles files({});
    files.reserve(folder / "reserved");
    files.write(folder / "written", "x");
    EXPECT_EQ(contents(folder).size(), 2u);
  }
  EXPECT_EQ(contents(folder), Contents());
  {
    OutputFiles files({});
    files.reserve(folder / "reserved");
    files.write(folder / "written", "x");
    files.commit();
  }
  EXPECT_EQ(contents(folder), (Contents{{"written", "x"}}));
}

TEST(OutputFiles, DoNotReplaceWithoutForce) {
  const Folder folder;
  write_text(folder / "a", "old");
  OutputFiles files({});
  EXPECT_ERROR(files.reserve(folder / "a"), ErrorKind::output_exists, "a exists already");
  EXPECT_ERROR(write_file(folder / "a", "new", false), ErrorKind::output_exists, "--force");
  files.write(folder / "b", "mine");
  write_text(folder / "b", "somebody was faster");
  EXPECT_ERROR(files.commit(), ErrorKind::output_exists, "b exists already");
  EXPECT_EQ(read_text(folder / "b"), "somebody was faster");
  write_file(folder / "a", "new", true);
  EXPECT_EQ(read_text(folder / "a"), "new");
}

TEST(OutputFiles, KeepTheModeAndFollowLinks) {
  const Folder folder;
  fs::create_directory(folder / "real");
  write_text(folder / "real/a", "old");
  ASSERT_EQ(::chmod((folder / "real/a").c_str(), 0600), 0);
  fs::create_symlink(folder / "real/a", folder / "link");
  write_file(folder / "link", "new", true);
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "real/a"), "new");
  EXPECT_EQ(fs::status(folder / "real/a").permissions(), fs::perms(0600));

  fs::create_symlink(folder / "nowhere", folder / "dangling");
  EXPECT_ERROR(write_file(folder / "dangling", "x", true), ErrorKind::cannot_write,
               "a link to a file that does not exist");
}

TEST(OutputFiles, SayWhyTheyCannotBeWritten) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  write_text(folder / "file", "x");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto write = [&](const fs::path& path) { write_file(path, "x", true); };
  EXPECT_ERROR(write(folder / "sub"), ErrorKind::cannot_write, "it is a folder");
  EXPECT_ERROR(write(folder.path().string() + "/"), ErrorKind::cannot_write,
               "it is a folder");
  EXPECT_ERROR(write(""), ErrorKind::cannot_write, "it is a folder");
  EXPECT_ERROR(write(folder / "no/such/a"), ErrorKind::cannot_write, "does not exist");
  EXPECT_ERROR(write(folder / "file/a"), ErrorKind::cannot_write, "is not a folder");
  EXPECT_ERROR(write(folder / "pipe"), ErrorKind::cannot_write, "pipe");
  EXPECT_ERROR(write("/dev/null"), ErrorKind::cannot_write, "device");
  EXPECT_ERROR(write("/proc/fmd-test"), ErrorKind::cannot_write,
               "cannot write /proc/fmd-test: ");
  EXPECT_ERROR(write(folder / std::string(250, 'n')), ErrorKind::cannot_write,
               "shorter name");
  EXPECT_EQ(contents(folder), (Contents{{"file", "x"}}));
}

TEST(OutputFiles, AFullDiskIsNamedAndLeavesNothing) {
  for (const std::string call : {"create", "write", "sync", "rename", "sync folder"}) {
    const Folder folder;
    write_set(folder, "1", false);
    for (int fail_at = 0;;
         ++fail_at) {  // the first such call, the second, ... before the list
      int seen = 0;
      bool failed = false;
      disk::set_hook([&](const char* name) {
        if (!failed && call == name && seen++ == fail_at) {
          failed = true;
          throw std::system_error(ENOSPC, std::generic_category());
        }
      });
      try {
        write_set(folder, "2", true);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::cannot_write);
        EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos);
      }
      disk::set_hook(nullptr);
      if (!failed) break;
      recover(folder / "model");
      const bool old = contents(folder) == whole_set("1");
      EXPECT_TRUE(old || contents(folder) == whole_set("2")) << call << " " << fail_at;
      if (!old) write_set(folder, "1", true);
    }
  }
}

// The real thing: the system refuses to make a file larger.
TEST(OutputFiles, AWriteThatTheSystemRefusesLeavesNothing) {
  const Folder folder;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int status = 1;
    try {
      write_file(folder / "a", std::string(5000, 'x'), false);
    } catch (const Error& error) {
      const bool right =
          error.kind() == ErrorKind::cannot_write &&
          std::string(error.what()).find("File too large") != std::string::npos;
      status = right ? 0 : 2;
    }
    ::_exit(status);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contents(folder), Contents());
}

TEST(OutputFiles, ASecondRunOnTheSameTargetIsRefused) {
  const Folder folder;
  OutputFiles first({});
  first.reserve(folder / "a");
  OutputFiles second({});
  EXPECT_ERROR(second.reserve(folder / "a"), ErrorKind::cannot_write,
               "another run is writing");
  recover(folder / "a");  // a reader leaves the living run alone
  first.write(folder / "a", "first");
  first.commit();
  EXPECT_EQ(contents(folder), (Contents{{"a", "first"}}));
}

TEST(OutputFiles, TheTemporaryOfAKilledRunIsReplaced) {
  const Folder folder;
  write_text(folder / ".a.fmd-tmp", "a long text of a run that is dead");
  write_file(folder / "a", "new", false);
  EXPECT_EQ(contents(folder), (Contents{{"a", "new"}}));
}

}  // namespace fmd
