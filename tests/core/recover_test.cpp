#include <gtest/gtest.h>

#include "fmd/core/output_files.h"
#include "support/close.h"
#include "support/kill.h"

namespace fs = std::filesystem;

namespace fmd {
namespace {

using test::contents;
using test::Contents;
using test::drop_leftovers;
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
    fs::create_directory(folder / "other");
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
  EXPECT_ERROR(recover(folder / "model"), ErrorKind::cannot_write, "not a journal of fmd");
  EXPECT_EQ(read_text(folder / "model.fmd-journal"), "hello");
}

}  // namespace fmd
