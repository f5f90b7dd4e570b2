#include "fmd/pipeline/save_debias.h"

#include <gtest/gtest.h>

#include "fmd/core/file.h"
#include "fmd/formats/model_file.h"
#include "pipeline/tables.h"
#include "support/folder.h"

namespace fmd {
namespace {

TEST(SaveDebias, FilesRepeatAndUndoRestoresEveryByte) {
  const test::Story story = test::made_up_story();
  const test::Folder folder;
  const Bytes original = model_bytes(story.model);
  DebiasOptions options;
  options.repair = {"group"};
  options.points = 12;
  options.audit.replicates = 100;
  Bytes written[2];
  for (int k = 0; k < 2; ++k) {
    const auto out = folder.path() / ("out" + std::to_string(k));
    const DebiasRun run(test::debias_input(story.model, story.parts), options, {});
    save_debias(run, *open_model_file(FileSet::in_memory("model", {{"", original}})), out,
                {});
    const FileView view = FileView::open(out);
    written[k].assign(view.bytes().begin(), view.bytes().end());
    const auto back = folder.path() / ("back" + std::to_string(k));
    undo_debias(DebiasFiles(out).receipt, back, {});
    const auto restored = FileView::open(back);
    EXPECT_EQ(Bytes(restored.bytes().begin(), restored.bytes().end()), original);
  }
  EXPECT_EQ(written[0], written[1]);
  EXPECT_NE(written[0], original);
}

}  // namespace
}  // namespace fmd
