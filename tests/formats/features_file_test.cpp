#include "fmd/formats/features_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/safetensors.h"
#include "support/close.h"
#include "support/folder.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;

FeaturesNote note_of(Index rows, Index cols, Index places) {
  FeaturesNote note;
  note.rows = rows;
  note.cols = cols;
  note.places = places;
  note.encoder = "abc";
  note.source = "people.csv";
  note.label = "income";
  note.classes = {"no", "yes"};
  note.weight = "w";
  Attribute sex;
  sex.name = "sex";
  sex.columns = {"sex"};
  sex.values = {"F", "M"};
  sex.cells = {{{"F", 0}}, {{"M", 0}}};
  sex.groups = {"F", "M", "(missing)"};
  sex.missing = 3;
  note.attributes = {sex};
  return note;
}

// Labels, weights and groups of `count` rows from row `first` on.
struct Beside {
  std::vector<std::int32_t> y;
  std::vector<float> weight;
  std::vector<Attribute> attributes;

  Beside(const FeaturesNote& note, Index first, Index count) : attributes(note.attributes) {
    for (Index i = first; i < first + count; ++i) {
      y.push_back(static_cast<std::int32_t>(i % 3) - 1);
      weight.push_back(static_cast<float>(i % 7));
      attributes[0].group.push_back(static_cast<std::int32_t>(i % 4) - 1);
    }
  }
};

std::filesystem::path write(const std::filesystem::path& folder, const Features& X,
                            const FeaturesNote& note) {
  const std::filesystem::path path = folder / "x.features";
  OutputFiles files({.force = true});
  FeaturesWriter writer(files, path, note);
  const Beside beside(note, 0, X.rows());
  writer.add(X, beside.y, beside.weight, beside.attributes);
  writer.finish(12, 3.25, 7);
  files.commit();
  return path;
}

std::vector<float> dense_row(const Features& X, Index row) {
  Scratch scratch;
  const std::vector<Index> rows = {row};
  const FeatureBlock block = X.gather(rows, scratch);
  std::vector<float> values(static_cast<std::size_t>(X.cols()), 0);
  for (Index j = 0; block.dense != nullptr && j < X.cols(); ++j)
    values[static_cast<std::size_t>(j)] = block.dense[j];
  for (Index e = 0; block.sparse() && e < block.start[1]; ++e)
    values[static_cast<std::size_t>(block.column[static_cast<std::size_t>(e)])] =
        block.value.empty() ? 1 : block.value[static_cast<std::size_t>(e)];
  return values;
}

// Row i flipped is row (i + 1) of the same features with another offset.
TEST(FeaturesFile, KeepsOffsetsAndFlippedFeatures) {
  for (const bool sparse : {false, true}) {
    const test::Folder folder;
    constexpr Index kRows = 5000;
    const auto shape = random_problem({.rows = kRows, .cols = 5, .sparse = sparse});
    FeaturesNote note = note_of(kRows, 5, sparse ? 5 : 0);
    note.outputs = 2;
    note.flips = {"sex"};
    std::vector<double> offset;
    for (Index i = 0; i < 2 * kRows; ++i) offset.push_back(0.5 * static_cast<double>(i));
    const auto X = keep_offset(
        random_problem({.rows = kRows, .cols = 5, .sparse = sparse}).X,
        *make_offset(make_dense(std::vector<float>(kRows, 0), kRows, 1), offset, 2));
    const auto path = folder.path() / "x.features";
    OutputFiles files({.force = true});
    FeaturesWriter writer(files, path, note);
    const std::vector<Index> parts = {3000, 2000};
    Index first = 0;
    for (const Index count : parts) {  // in two parts; every third row has no value
      const Beside beside(note, first, count);
      FeaturesWriter::Flips flips;
      std::vector<Index> rows, source;
      for (Index i = 0; i < count; ++i) {
        rows.push_back(first + i);
        if (i % 3 == 0) continue;
        flips.plan.row.push_back(i);
        flips.plan.from.push_back(static_cast<std::int32_t>(i % 2));
        flips.plan.to.push_back(1 - static_cast<std::int32_t>(i % 2));
        source.push_back((first + i + 1) % kRows);
      }
      FeaturePatch nothing;
      nothing.entries.resize(2);
      flips.X = make_patched(*X, source, nothing, flips.plan.to);
      const std::vector<std::int32_t> to(rows.size(), 0);
      std::vector<FeaturesWriter::Flips> all;
      all.push_back(std::move(flips));
      writer.add(*make_patched(*X, rows, nothing, to), beside.y, beside.weight,
                 beside.attributes, all);
      first += count;
    }
    writer.finish(-1, 0, 0);
    files.commit();

    const FeaturesFile file = FeaturesFile::open(path);
    EXPECT_EQ(file.note().flips, note.flips);
    const auto back = file.features(100, 4500), flipped = file.flips(0, 100, 4500);
    ASSERT_EQ(flipped->rows(), 4500);
    Scratch scratch, other;
    for (const Index row : {0, 1, 2, 2899, 2900, 2901, 4499}) {
      const Index whole = row + 100, part = whole < 3000 ? whole : whole - 3000;
      EXPECT_EQ(dense_row(*back, row), dense_row(*X, whole));
      const std::vector<Index> one = {row}, next = {(whole + 1) % kRows};
      EXPECT_EQ(back->gather(one, scratch).offset[1], static_cast<double>(whole) + 0.5);
      if (part % 3 == 0) {
        EXPECT_EQ(dense_row(*flipped, row), std::vector<float>(5, 0));
      } else {
        EXPECT_EQ(dense_row(*flipped, row), dense_row(*X, next[0]));
        EXPECT_EQ(flipped->gather(one, scratch).offset[0],
                  X->gather(next, other).offset[0]);
      }
    }
  }
}

TEST(FeaturesFile, ComesBackTheSameDenseAndSparse) {
  for (const bool sparse : {false, true}) {
    const test::Folder folder;
    const auto problem = random_problem({.rows = 9000, .cols = 5, .sparse = sparse});
    const auto path = write(folder.path(), *problem.X, note_of(9000, 5, sparse ? 5 : 0));
    const FeaturesFile file = FeaturesFile::open(path);
    EXPECT_EQ(file.note().rows, 9000);
    EXPECT_EQ(file.note().source, "people.csv");
    EXPECT_EQ(file.note().seen, 12);
    EXPECT_EQ(file.note().seen_by_chance, 3.25);
    EXPECT_EQ(file.note().missing_numbers, 7);
    const auto X = file.features(0, 9000);
    const auto part = file.features(5000, 4000);
    EXPECT_EQ(part->rows(), 4000);
    for (const Index row : {Index{0}, Index{4095}, Index{4096}, Index{8999}}) {
      EXPECT_EQ(dense_row(*X, row), dense_row(*problem.X, row));
      if (row < 5000) continue;
      EXPECT_EQ(dense_row(*part, row - 5000), dense_row(*problem.X, row));
    }
    // Whole blocks too: the last one is short.
    Scratch a, b;
    const FeatureBlock ours = X->block(2, a), theirs = problem.X->block(2, b);
    ASSERT_EQ(ours.rows, theirs.rows);
    EXPECT_EQ(ours.first, 8192);
    const Beside beside(file.note(), 100, 50);
    EXPECT_EQ(file.labels(100, 50), beside.y);
    const auto weight = file.weights(100, 50);
    EXPECT_EQ(std::vector<float>(weight.begin(), weight.end()), beside.weight);
    const Attribute sex = file.attribute(0, 100, 50);
    EXPECT_EQ(sex.group, beside.attributes[0].group);
    for (std::size_t i = 0; i < sex.code.size(); ++i)
      EXPECT_EQ(sex.code[i], sex.group[i] == 2 ? -1 : sex.group[i]);  // nobody flips there
    EXPECT_EQ(sex.cells[1][0].text, "M");
  }
}

TEST(FeaturesFile, IsOneThatOtherProgramsRead) {
  const test::Folder folder;
  const auto problem = random_problem({.rows = 10, .cols = 2});
  const auto path = write(folder.path(), *problem.X, note_of(10, 2, 0));
  const FileView view = FileView::open(path);
  EXPECT_TRUE(is_features_file(view.bytes()));
  const Safetensors file = Safetensors::parse(view.bytes(), "x");
  EXPECT_EQ(file.tensors.at("x").shape, (std::vector<Index>{10, 2}));
  EXPECT_EQ(file.tensors.at("attribute.0").dtype, "I32");
}

TEST(FeaturesFile, WritesWhatWasSaidAndNoMore) {
  const test::Folder folder;
  const auto problem = random_problem({.rows = 10, .cols = 2});
  const FeaturesNote note = note_of(10, 2, 0);
  OutputFiles files({.force = true});
  FeaturesWriter writer(files, folder.path() / "x", note);
  EXPECT_ERROR(writer.finish(0, 0, 0), ErrorKind::bad_shape, "has 0 entries, needs 10");
  const Beside beside(note, 0, 10);
  writer.add(*problem.X, beside.y, beside.weight, beside.attributes);
  EXPECT_ERROR(writer.add(*problem.X, beside.y, beside.weight, beside.attributes),
               ErrorKind::bad_shape, "has 20 entries, needs 10");
}

class Damaged : public ::testing::Test {
 protected:
  Damaged() : problem_(random_problem({.rows = 10, .cols = 3, .sparse = true})) {
    path_ = write(folder_.path(), *problem_.X, note_of(10, 3, 3));
    std::ifstream in(path_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::filesystem::path save(const std::string& bytes) {
    const auto path = folder_.path() / "damaged";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // The same length, so that offsets stay.
  std::filesystem::path replaced(const std::string& from, const std::string& to) {
    std::string copy = bytes_;
    copy.replace(copy.find(from), from.size(), to);
    return save(copy);
  }

  test::Folder folder_;
  test::Problem problem_;
  std::filesystem::path path_;
  std::string bytes_;
};

TEST_F(Damaged, HeadsAreNotTrusted) {
  for (std::size_t cut = 0; cut < bytes_.size(); cut += 37)
    EXPECT_THROW((void)FeaturesFile::open(save(bytes_.substr(0, cut))), Error) << cut;
  EXPECT_ERROR((void)FeaturesFile::open(replaced("\\\"rows\\\":10", "\\\"rows\\\":11")),
               ErrorKind::bad_model, "does not have the shape that its note says");
  EXPECT_ERROR((void)FeaturesFile::open(replaced("\\\"schema\\\":1", "\\\"schema\\\":3")),
               ErrorKind::bad_model, "schema");
  EXPECT_ERROR((void)FeaturesFile::open(replaced("fmd.features", "fmd.fe_tures")),
               ErrorKind::bad_model, "is missing");
}

TEST_F(Damaged, RowsAreLookedAtWhenTheyAreRead) {
  std::string copy = bytes_;
  const std::size_t data = copy.size() - 10 * (4 + 3 * 4 + 3 * 4 + 4 + 4);
  // Tensors stand in order of their names: attribute.0 is the first.
  copy[data + 4] = 9;
  const FeaturesFile groups = FeaturesFile::open(save(copy));
  EXPECT_ERROR((void)groups.attribute(0, 0, 10), ErrorKind::bad_model,
               "row 1, tensor 'attribute.0': 9 is not one of 3 values");
  copy = bytes_;
  for (std::size_t i = 0; i < 12; ++i) copy[data + 40 + i] = 7;
  const FeaturesFile columns = FeaturesFile::open(save(copy));
  Scratch scratch;
  EXPECT_ERROR((void)columns.features(0, 10)->block(0, scratch), ErrorKind::bad_model,
               "they must ascend and be below 3");
}

}  // namespace
}  // namespace fmd
