#include <sys/stat.h>

#include <gtest/gtest.h>

#include "fmd/core/bytes.h"
#include "fmd/core/output_files.h"
#include "support/close.h"
#include "support/kill.h"

namespace fs = std::filesystem;

namespace fmd {
namespace {

using test::contents;
using test::Contents;
using test::Folder;
using test::killed;
using test::read_text;
using test::whole_set;
using test::write_set;
using test::write_text;

// Kills a run at every call, hands the folder to `check`, and returns how many calls there
// are.
template <typename Check>
int kill_everywhere(bool replace, const Check& check) {
  for (int calls = 0;; ++calls) {
    const Folder folder;
    if (replace) write_set(folder, "1", false);
    if (!killed(calls, [&] { write_set(folder, "2", replace); })) return calls;
    SCOPED_TRACE("killed before call " + std::to_string(calls));
    check(folder);
    if (testing::Test::HasFailure()) return calls;
  }
}

}  // namespace

TEST(Recover, NewFilesAreAllThereOrNoneAtEveryKill) {
  const int calls = kill_everywhere(false, [](const Folder& folder) {
    if (fs::exists(folder / "model")) {
      EXPECT_EQ(read_text(folder / "model.receipt"), "receipt 2");
      EXPECT_EQ(read_text(folder / "model.undo"), "undo 2");
    }
    recover(folder / "model");
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
                         read_text(folder / "model.undo") == "undo 1" &&
                         read_text(folder / "model") == "model 1";
    const bool all_new = read_text(folder / "model.receipt") == "receipt 2" &&
                         read_text(folder / "model.undo") == "undo 2" &&
                         read_text(folder / "model") == "model 2";
    EXPECT_TRUE(journal || all_old || all_new);
    if (read_text(folder / "model") == "model 2") {
      EXPECT_TRUE(all_new);
    }
    recover(folder / "model");
    EXPECT_EQ(contents(folder), whole_set(journal || all_new ? "2" : "1"));
  });
}

TEST(Recover, AlsoWorksFromASideFile) {
  kill_everywhere(true, [](const Folder& folder) {
    recover(folder / "model.undo");
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
        EXPECT_EQ(read_text(folder / "model.undo"), "undo 2");
      }
    }
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

TEST(Recover, ARunThatMayNotReplaceStillCleansUp) {
  kill_everywhere(false, [](const Folder& folder) {
    try {
      write_set(folder, "3", false);
      EXPECT_EQ(contents(folder), whole_set("3"));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::output_exists);
      EXPECT_EQ(contents(folder), whole_set("2"));
    }
  });
}

// A set that is written down belongs together, also when a later run wants one of its
// files.
TEST(Recover, ARunOnASideFileDoesNotTearAKilledSetApart) {
  kill_everywhere(true, [](const Folder& folder) {
    write_file(folder / "model.undo", "undo 3", true);
    recover(folder / "model");
    Contents found = contents(folder);
    EXPECT_EQ(found["model.undo"], "undo 3");
    found.erase("model.undo");
    Contents first = whole_set("1"), second = whole_set("2");
    first.erase("model.undo");
    second.erase("model.undo");
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
  EXPECT_ERROR(recover(folder / "model"), ErrorKind::cannot_write, "not a journal of fmd");
  EXPECT_EQ(read_text(folder / "model.fmd-journal"), "hello");
}

// A journal with these names, as a run that was killed after step 2 leaves it.
void plant_journal(const fs::path& path, const std::string& out, const std::string& other) {
  ByteWriter bytes;
  bytes.put_text("fmd-journal 1");
  bytes.put_text(out);
  bytes.put(std::uint64_t{2});
  bytes.put_text(other);
  bytes.put_text(out);
  const Bytes all = bytes.take();
  write_text(path, std::string(all.begin(), all.end()));
}

TEST(Recover, APlantedJournalReachesNoOtherFolder) {
  const Folder folder;
  fs::create_directory(folder / "mine");
  fs::create_directory(folder / "victim");
  write_text(folder / "victim/.file.fmd-tmp", "planted");
  write_text(folder / "victim/file", "precious");
  for (const std::string& other :
       {(folder / "victim/file").string(), std::string("../victim/file"), std::string(".."),
        std::string()}) {
    plant_journal(folder / "mine/model.fmd-journal", "model", other);
    EXPECT_ERROR(recover(folder / "mine/model"), ErrorKind::cannot_write,
                 "not a journal of fmd");
    EXPECT_EQ(read_text(folder / "victim/file"), "precious") << other;
  }
  plant_journal(folder / "mine/model.fmd-journal", "../victim/file", "model");
  EXPECT_ERROR(recover(folder / "mine/model"), ErrorKind::cannot_write,
               "not a journal of fmd");
}

TEST(Recover, AJournalThatIsNoRegularFileIsRefusedAtOnce) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "model.fmd-journal").c_str(), 0600), 0);
  EXPECT_ERROR(recover(folder / "model"), ErrorKind::cannot_write, "not a regular file");
}

TEST(RecoverSlow, AJournalThatStaysLockedIsAnError) {
  const Folder folder;
  write_text(folder / "model.fmd-journal", "held");
  const disk::File held = disk::open_existing(folder / "model.fmd-journal");
  ASSERT_TRUE(disk::lock(held, false));
  EXPECT_ERROR(recover(folder / "model"), ErrorKind::cannot_write, "locked for 10 seconds");
}

// Files of two folders: each is whole, and OUT is new only when all others are.
TEST(Recover, FilesOfOtherFoldersAreInPlaceBeforeOut) {
  for (int calls = 0;; ++calls) {
    const Folder folder;
    fs::create_directory(folder / "other");
    const auto write = [&](const std::string& version) {
      OutputFiles files({.force = true});
      files.write(folder / "other/parts", "parts " + version);
      files.write(folder / "out", "out " + version);
      files.commit();
    };
    write("1");
    const bool stopped = killed(calls, [&] { write("2"); });
    recover(folder / "out");
    recover(folder / "other/parts");
    const std::string out = read_text(folder / "out"),
                      parts = read_text(folder / "other/parts");
    EXPECT_TRUE(out == "out 1" || (out == "out 2" && parts == "parts 2")) << calls;
    EXPECT_TRUE(parts == "parts 1" || parts == "parts 2") << calls;
    EXPECT_EQ(contents(folder).size(), 2u) << calls;
    if (!stopped) break;
  }
}

}  // namespace fmd
