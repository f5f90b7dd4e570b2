#include "fmd/formats/write_model.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"
#include "support/folder.h"
#include "support/kill.h"

namespace fmd {
namespace {

using test::contents;
using test::Contents;

// Files and nothing else: writing looks at no model.
class PlainFiles final : public ModelFile {
 public:
  explicit PlainFiles(FileSet files) : ModelFile(std::move(files)) {}
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] Patch patch(const Model&) const override { return {}; }

 private:
  Model model_;
};

FilePatch replace(const std::string& name, Index offset, Index length,
                  const std::string& text) {
  return {name, offset, length, {text.begin(), text.end()}};
}

class WriteModel : public testing::Test {
 protected:
  WriteModel() {
    test::write_text(folder_ / "main", "0123456789");
    test::write_text(folder_ / "more", "abcdefghij");
    test::write_text(folder_ / "same", "unchanged");
  }
  [[nodiscard]] PlainFiles original(bool several) const {
    FileSet files = FileSet::open(folder_ / "main");
    if (several) (void)files.bytes("more"), (void)files.bytes("same");
    return PlainFiles(std::move(files));
  }
  WrittenModel write(const Patch& patch, bool several) {
    OutputFiles files({.force = false});
    WrittenModel written = write_model(original(several), patch, files, out_ / "out");
    files.commit();
    return written;
  }

  test::Folder folder_, out_;
};

TEST_F(WriteModel, OneFileStaysAFileAndItsUndoIsThatOfItsBytes) {
  const WrittenModel written = write({{replace("", 2, 3, "XYZ")}, {}}, false);
  EXPECT_EQ(contents(out_), (Contents{{"out", "01XYZ56789"}}));
  EXPECT_EQ(written.main, out_ / "out");
  const std::string before = "0123456789", after = "01XYZ56789";
  EXPECT_EQ(undo_bytes(written.undo), make_undo(Bytes(before.begin(), before.end()),
                                                Bytes(after.begin(), after.end())));
}

TEST_F(WriteModel, SeveralFilesBecomeAFolderAndComeBack) {
  // Ranges that grow and shrink, and a new file.
  const Patch patch{
      {replace("", 2, 1, "LONGER"), replace("", 8, 2, ""), replace("more", 0, 1, "A")},
      {{"extra", {'n', 'e', 'w'}}}};
  const WrittenModel written = write(patch, true);
  EXPECT_EQ(contents(out_), (Contents{{"out/main", "01LONGER34567"},
                                      {"out/more", "Abcdefghij"},
                                      {"out/same", "unchanged"},
                                      {"out/extra", "new"}}));
  ASSERT_EQ(written.files.size(), 4u);
  EXPECT_EQ(written.files[0].name, "main");
  EXPECT_FALSE(written.files[3].before.has_value());

  const auto undo = parse_undo(undo_bytes(written.undo));
  FileSet restored = restored_files(FileSet::open(written.main), undo);
  const auto text = [&](const std::string& name) {
    const auto bytes = restored.bytes(name);
    return std::string(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(text(""), "0123456789");
  EXPECT_EQ(text("more"), "abcdefghij");
  EXPECT_EQ(text("same"), "unchanged");
  OutputFiles files({.force = false});
  (void)restore_model(FileSet::open(written.main), undo, {"main", "more", "same"}, files,
                      out_ / "back");
  files.commit();
  EXPECT_EQ(test::read_text(out_ / "back/main"), "0123456789");
  EXPECT_EQ(test::read_text(out_ / "back/more"), "abcdefghij");
  EXPECT_EQ(test::read_text(out_ / "back/same"), "unchanged");
  EXPECT_FALSE(std::filesystem::exists(out_ / "back/extra"));
}

TEST_F(WriteModel, AnAddedFileMakesOneFileAFolder) {
  const WrittenModel written = write({{}, {{"extra", {'n', 'e', 'w'}}}}, false);
  EXPECT_EQ(contents(out_), (Contents{{"out/main", "0123456789"}, {"out/extra", "new"}}));
  OutputFiles files({.force = false});
  (void)restore_model(FileSet::open(written.main), parse_undo(undo_bytes(written.undo)),
                      {"main"}, files, out_ / "back");
  files.commit();
  EXPECT_EQ(test::read_text(out_ / "back"), "0123456789");
}

TEST_F(WriteModel, WrongPatchesLeaveNothing) {
  const std::vector<Patch> wrong = {
      {{replace("", 5, 6, "")}, {}},
      {{replace("", -1, 1, "")}, {}},
      {{replace("", 3, 3, ""), replace("", 5, 1, "")}, {}},
      {{replace("absent", 0, 1, "")}, {}},
      {{}, {{"../extra", {}}}},
      {{}, {{"more", {}}}},
  };
  for (const Patch& patch : wrong)
    EXPECT_ERROR(write(patch, true), ErrorKind::bad_model, "patch: ");
  EXPECT_TRUE(std::filesystem::is_empty(out_.path()));
}

TEST_F(WriteModel, ChangedFilesAndDamagedUndosAreRefused) {
  const WrittenModel written =
      write({{replace("", 2, 1, "X"), replace("more", 2, 1, "Y")}, {}}, true);
  const auto restore = [&](std::vector<UndoneFile> undo) {
    OutputFiles files({.force = false});
    (void)restore_model(FileSet::open(written.main), undo, {"main", "more", "same"}, files,
                        out_ / "back");
    files.commit();
  };
  auto undo = written.undo;
  undo[1].ranges[0].bytes[0] ^= 1;
  EXPECT_ERROR(restore(undo), ErrorKind::bad_model, "not the original");
  EXPECT_ERROR(restored_files(FileSet::open(written.main), undo), ErrorKind::bad_model,
               "not the original");
  undo = written.undo;
  undo[0].ranges[0].offset = 100;
  EXPECT_ERROR(restore(undo), ErrorKind::bad_model, "outside the file");
  const Bytes bytes = undo_bytes(written.undo);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_ERROR(parse_undo(std::span(bytes).first(size)), ErrorKind::bad_model, "undo: ");
  test::write_text(out_ / "out/more", "abYdefghiJ");
  EXPECT_ERROR(restore(written.undo), ErrorKind::wrong_model, "not the file");
  EXPECT_FALSE(std::filesystem::exists(out_ / "back"));
}

}  // namespace
}  // namespace fmd
