#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/write_model.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/folder.h"
#include "support/problems.h"

// What every ModelFormat must hold. A new one calls check_model_file() in its test.
namespace fmd::test {

struct ModelFileCase {
  std::filesystem::path path;  // a model file of this format; a folder of its own is best
  ModelFormats formats;
  Table table;  // rows that the model can read
  // How far a stored number may be from the one that was asked for: formats of float32
  // round.
  double precision = 0;
};

inline std::map<std::string, std::string> files_of(const ModelFile& file) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, bytes] : file.files()) texts[name] = {bytes.begin(), bytes.end()};
  return texts;
}

inline Matrix logits_of(const Model& model, const Table& table) {
  const auto X = model.backbone->features(table, {}, {});
  return all_logits(*model.head, {.X = X.get(), .y = {}, .weight = {}, .subset = {}},
                    model.theta, {});
}

inline Model with_other_theta(const ModelFile& file) {
  const Vector& theta = file.model().theta;
  return with_theta(file.model(), theta + random_vector(theta.size(), 31, 0.01));
}

// Only the head's numbers change: at most the bytes of as many numbers as there are
// parameters, and the same places whatever the numbers are.
inline void check_patch(const ModelFile& file) {
  const Model other = with_other_theta(file);
  const Patch patch = file.patch(other);
  std::size_t bytes = 0;
  for (const FilePatch& range : patch.ranges) {
    EXPECT_EQ(range.length, std::ssize(range.bytes)) << "a number keeps its length";
    bytes += range.bytes.size();
  }
  EXPECT_LE(bytes, 8 * static_cast<std::size_t>(other.theta.size()));
  EXPECT_GT(bytes, 0u);
  for (const auto& [name, same] : apply_patch(file.files(), file.patch(file.model()))) {
    const auto original = file.files().at(name);
    EXPECT_TRUE(std::equal(same.begin(), same.end(), original.begin(), original.end()))
        << "the same theta must give the same bytes";
  }
  EXPECT_ERROR(with_theta(file.model(), Vector::Zero(other.theta.size() + 1)),
               ErrorKind::bad_shape, "theta");
}

inline void check_same_model(const Model& read, const Model& wanted, const Table& table,
                             double precision) {
  EXPECT_EQ(read.backbone->hash(), wanted.backbone->hash());
  EXPECT_EQ(read.task, wanted.task);
  ASSERT_EQ(read.theta.size(), wanted.theta.size());
  EXPECT_LE((read.theta - wanted.theta).cwiseAbs().maxCoeff(), precision);
  const Model exact = with_theta(wanted, read.theta);
  EXPECT_EQ(logits_of(read, table), logits_of(exact, table));
}

// Written, read again, and restored to the byte.
inline void check_written(const ModelFileCase& c, const ModelFile& file) {
  const Folder folder;
  const Model other = with_other_theta(file);
  OutputFiles out({.force = false});
  const WrittenModel written = write_model(file, file.patch(other), out, folder / "out");
  out.commit();
  const auto read = open_model_file(written.main, c.formats);
  check_same_model(read->model(), other, c.table, c.precision);
  const auto in_memory = file.with_theta(read->model().theta);
  EXPECT_EQ(logits_of(in_memory->model(), c.table), logits_of(read->model(), c.table));

  std::vector<std::string> names;
  for (const FileChange& change : written.files)
    if (change.before) names.push_back(change.name);
  const std::vector<UndoneFile> undo = parse_undo(undo_bytes(written.undo));
  const auto before =
      open_model_file(restored_files(FileSet::open(written.main), undo), c.formats);
  EXPECT_EQ(files_of(*before), files_of(file)) << "the original, in memory";
  OutputFiles back({.force = false});
  const auto hashes =
      restore_model(FileSet::open(written.main), undo, names, back, folder / "back");
  back.commit();
  const auto restored = open_model_file(
      names.size() == 1 ? folder / "back" : folder / "back" / names[0], c.formats);
  EXPECT_EQ(files_of(*restored), files_of(file)) << "undo must be exact";
  for (std::size_t k = 0; k < names.size(); ++k)
    EXPECT_EQ(hashes[k], written.files[k].before.value());
}

inline testing::AssertionResult refused(const ModelFileCase& c,
                                        std::map<std::string, Bytes> contents) {
  try {
    (void)open_model_file(FileSet::in_memory(c.path, std::move(contents)), c.formats);
  } catch (const Error& error) {
    const bool kind = error.kind() == ErrorKind::bad_model ||
                      error.kind() == ErrorKind::unsupported ||
                      error.kind() == ErrorKind::bad_task;
    if (kind && !std::string(error.what()).empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << id(error.kind()) << ": " << error.what();
  }
  return testing::AssertionFailure() << "it was opened";
}

// A file that is cut off anywhere, or that is another file, is refused by an Error.
inline void check_damage(const ModelFileCase& c, const ModelFile& file) {
  std::map<std::string, Bytes> whole;
  for (const auto& [name, bytes] : file.files())
    whole[name].assign(bytes.begin(), bytes.end());
  for (const auto& [name, bytes] : whole) {
    const std::size_t step = std::max<std::size_t>(1, bytes.size() / 97);
    for (std::size_t size = 0; size < bytes.size(); size += step) {
      auto cut = whole;
      cut[name].resize(size);
      EXPECT_TRUE(refused(c, cut)) << "\"" << name << "\" cut to " << size << " bytes";
      if (testing::Test::HasFailure()) return;
    }
    auto short_by_one = whole;
    short_by_one[name].pop_back();
    EXPECT_TRUE(refused(c, short_by_one)) << "\"" << name << "\" without its last byte";
  }
  auto unknown = whole;
  std::fill_n(unknown[""].begin(), std::min<std::size_t>(16, unknown[""].size()), 0xfe);
  EXPECT_TRUE(refused(c, unknown)) << "unknown first bytes";
}

inline void check_model_file(const ModelFileCase& c) {
  const auto file = open_model_file(c.path, c.formats);
  ASSERT_EQ(file->model().theta.size(), file->model().head->parameters());
  ASSERT_EQ(file->model().backbone->cols(), file->model().head->inputs());
  check_patch(*file);
  check_written(c, *file);
  check_damage(c, *file);
}

}  // namespace fmd::test
