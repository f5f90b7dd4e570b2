#include <csignal>
#include <map>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/disk.h"
#include "fmd/core/file.h"
#include "support/close.h"
#include "support/folder.h"

namespace fs = std::filesystem;

namespace fmd {
namespace {

using test::Folder;
using test::read_text;
using test::write_text;

using Contents = std::map<std::string, std::string>;

Contents contents(const Folder& folder) {
  Contents found;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file())
      found[fs::relative(entry.path(), folder.path()).string()] = read_text(entry.path());
  return found;
}

// Stops all changes of the disk from a given call on, as a kill does: the calls before it
// have happened, and nothing that the dying code tries afterwards has any effect.
class Killer {
 public:
  struct Killed {};

  explicit Killer(int calls) {
    disk::set_hook([this, calls](const char*) {
      if (made_ >= calls) throw Killed();
      ++made_;
    });
  }
  ~Killer() { disk::set_hook(nullptr); }
  Killer(const Killer&) = delete;
  Killer& operator=(const Killer&) = delete;

  [[nodiscard]] int made() const { return made_; }

 private:
  int made_ = 0;
};

// Calls run() and kills it before its call number `calls`; false when it came to its end.
template <typename Run>
bool killed(int calls, const Run& run) {
  const Killer killer(calls);
  try {
    run();
  } catch (const Killer::Killed&) {
    return true;
  }
  return false;
}

void write_set(const Folder& folder, const std::string& version, bool force) {
  OutputFiles files({.force = force});
  files.reserve(folder / "model");
  files.write(folder / "model.receipt", "receipt " + version);
  files.write(folder / "other/undo", "undo " + version);
  files.write(folder / "model", "model " + version);
  files.commit();
}

Contents whole_set(const std::string& version) {
  return {{"model", "model " + version},
          {"model.receipt", "receipt " + version},
          {"other/undo", "undo " + version}};
}

// Kills a run at every call, hands the folder to `check`, and returns how many calls there
// are.
template <typename Check>
int kill_everywhere(bool replace, const Check& check) {
  for (int calls = 0;; ++calls) {
    const Folder folder;
    fs::create_directory(folder / "other");
    if (replace) write_set(folder, "1", false);
    if (!killed(calls, [&] { write_set(folder, "2", replace); })) return calls;
    SCOPED_TRACE("killed before call " + std::to_string(calls));
    check(folder);
    if (testing::Test::HasFailure()) return calls;
  }
}

// What recover(model) cannot know of: temporaries with other names in other folders.
void drop_leftovers(const Folder& folder) { recover(folder / "other/undo"); }

}  // namespace

TEST(OutputFiles, AppearWithTheirContentsAndNothingElse) {
  const Folder folder;
  fs::create_directory(folder / "other");
  write_set(folder, "1", false);
  EXPECT_EQ(contents(folder), whole_set("1"));
  write_set(folder, "2", true);
  EXPECT_EQ(contents(folder), whole_set("2"));
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
               "a link to nothing");
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
    fs::create_directory(folder / "other");
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
      drop_leftovers(folder);
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

TEST(Recover, NewFilesAreAllThereOrNoneAtEveryKill) {
  const int calls = kill_everywhere(false, [](const Folder& folder) {
    if (fs::exists(folder / "model")) {
      EXPECT_EQ(read_text(folder / "model.receipt"), "receipt 2");
      EXPECT_EQ(read_text(folder / "other/undo"), "undo 2");
    }
    recover(folder / "model");
    drop_leftovers(folder);
    if (!contents(folder).empty()) {
      EXPECT_EQ(contents(folder), whole_set("2"));
    }
  });
  EXPECT_GT(calls, 20);
}

TEST(Recover, ReplacedFilesAreAllOldOrAllNewAtEveryKill) {
  kill_everywhere(true, [](const Folder& folder) {
    const bool journal = fs::exists(folder / "model.fmd-journal");
    const bool all_old = read_text(folder / "model.receipt") == "receipt 1" &&
                         read_text(folder / "other/undo") == "undo 1" &&
                         read_text(folder / "model") == "model 1";
    const bool all_new = read_text(folder / "model.receipt") == "receipt 2" &&
                         read_text(folder / "other/undo") == "undo 2" &&
                         read_text(folder / "model") == "model 2";
    EXPECT_TRUE(journal || all_old || all_new);
    if (read_text(folder / "model") == "model 2") {
      EXPECT_TRUE(all_new);
    }
    recover(folder / "model");
    drop_leftovers(folder);
    EXPECT_EQ(contents(folder), whole_set(journal || all_new ? "2" : "1"));
  });
}

TEST(Recover, AlsoWorksFromASideFileInAnotherFolder) {
  kill_everywhere(true, [](const Folder& folder) {
    recover(folder / "other/undo");
    recover(folder / "model");
    const Contents found = contents(folder);
    EXPECT_TRUE(found == whole_set("1") || found == whole_set("2"));
  });
}

TEST(Recover, CanItselfBeKilledAndRepeated) {
  kill_everywhere(true, [](const Folder& folder) {
    for (int calls = 0; killed(calls, [&] { recover(folder / "model"); }); ++calls) {
      if (read_text(folder / "model") == "model 2") {
        EXPECT_EQ(read_text(folder / "model.receipt"), "receipt 2");
        EXPECT_EQ(read_text(folder / "other/undo"), "undo 2");
      }
    }
    drop_leftovers(folder);
    const Contents found = contents(folder);
    EXPECT_TRUE(found == whole_set("1") || found == whole_set("2"));
  });
}

TEST(Recover, TheNextRunFinishesWhatAKilledOneLeft) {
  for (const bool replace : {false, true}) {
    kill_everywhere(replace, [](const Folder& folder) {
      write_set(folder, "3", true);
      EXPECT_EQ(contents(folder), whole_set("3"));
    });
  }
}

// A set that is written down belongs together, also when a later run wants one of its
// files.
TEST(Recover, ARunOnASideFileDoesNotTearAKilledSetApart) {
  kill_everywhere(true, [](const Folder& folder) {
    write_file(folder / "other/undo", "undo 3", true);
    recover(folder / "model");
    Contents found = contents(folder);
    EXPECT_EQ(found["other/undo"], "undo 3");
    found.erase("other/undo");
    Contents first = whole_set("1"), second = whole_set("2");
    first.erase("other/undo");
    second.erase("other/undo");
    EXPECT_TRUE(found == first || found == second) << testing::PrintToString(found);
  });
}

TEST(Recover, AMovedFolderCanStillBeFinished) {
  for (int calls = 0;; ++calls) {
    const Folder folder;
    fs::create_directory(folder / "a");
    const auto write = [&](const std::string& version) {
      OutputFiles files({.force = true});
      files.write(folder / "a/model.receipt", "receipt " + version);
      files.write(folder / "a/model", "model " + version);
      files.commit();
    };
    write("1");
    if (!killed(calls, [&] { write("2"); })) break;
    fs::rename(folder / "a", folder / "b");
    recover(folder / "b/model");
    const Contents found = contents(folder);
    const Contents old = {{"b/model", "model 1"}, {"b/model.receipt", "receipt 1"}};
    const Contents next = {{"b/model", "model 2"}, {"b/model.receipt", "receipt 2"}};
    EXPECT_TRUE(found == old || found == next) << calls;
  }
}

TEST(Recover, LeavesOtherFilesAlone) {
  const Folder folder;
  const Contents all = {{".models.fmd-tmp", "of another file"},
                        {"model", "m"},
                        {"model.fmd-tmp", "not hidden"},
                        {".model.txt", "not temporary"}};
  for (const auto& [name, text] : all) write_text(folder / name, text);
  recover(folder / "model");
  EXPECT_EQ(contents(folder), all);
  recover(folder / "absent");
  recover(folder / "no/such/folder");
  recover(folder.path());
  recover("");
  EXPECT_EQ(contents(folder), all);
}

TEST(Recover, AJournalThatIsNoneIsAnErrorAndIsKept) {
  const Folder folder;
  write_text(folder / "model", "m");
  write_text(folder / "model.fmd-journal", "hello");
  EXPECT_ERROR(recover(folder / "model"), ErrorKind::cannot_write, "no journal of fmd");
  EXPECT_EQ(read_text(folder / "model.fmd-journal"), "hello");
}

}  // namespace fmd
