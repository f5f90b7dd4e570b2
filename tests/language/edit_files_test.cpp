#include "fmd/language/edit_files.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/formats/safetensors.h"
#include "fmd/formats/undo.h"
#include "fmd/language/head_change.h"
#include "support/close.h"
#include "support/files.h"
#include "support/folder.h"

namespace fmd {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

HeadChange small_change(Index d) {
  HeadChange change;
  change.M = Matrix::Zero(d, d);
  for (Index i = 0; i < d; ++i)
    for (Index j = 0; j < d; ++j)
      change.M(i, j) = .05 * std::sin(static_cast<double>(3 * i + 7 * j));
  return change;
}

// Writes the folder, opens it again, and turns it back.
void check_folder(const fs::path& folder) {
  const LanguageModel model = LanguageModel::open(folder);
  const VocabularyHead changed = changed_head(model.head(), small_change(model.cols()), {});
  const test::Folder work;
  const fs::path out = work / "out", back = work / "back";
  OutputFiles files({});
  const WrittenModel written =
      write_language_model(folder, model.head(), changed.weight, files, out);
  files.commit();
  const LanguageModel again = LanguageModel::open(out);
  EXPECT_EQ(again.head().weight, changed.weight);
  EXPECT_EQ(again.head().bias, model.head().bias);
  EXPECT_FALSE(again.head().tied);
  EXPECT_EQ(again.backbone_hash(), model.backbone_hash());  // finds its states again
  EXPECT_EQ(written.files[0].name, "config.json");
  std::vector<std::string> names;
  for (const FileChange& file : written.files)
    if (file.before) names.push_back(file.name);
  OutputFiles restored({});
  static_cast<void>(restore_model(FileSet::open(out / "config.json"),
                                  parse_undo(undo_bytes(written.undo)), names, restored,
                                  back));
  restored.commit();
  for (const std::string& name : names)
    EXPECT_EQ(test::read_text(back / name), test::read_text(folder / name)) << name;
  // A second edit finds the head where the first one put it.
  OutputFiles more({});
  static_cast<void>(
      write_language_model(out, again.head(), model.head().weight, more, work / "more"));
  more.commit();
  EXPECT_EQ(LanguageModel::open(work / "more").head().weight, model.head().weight);
}

TEST(EditFiles, EveryKindIsWrittenReadAndTurnedBack) {
  for (const char* kind : {"llama", "gpt2", "bert", "distilbert", "roberta"}) {
    SCOPED_TRACE(kind);
    check_folder(test::kFiles / "lm" / kind);
  }
}

TEST(EditFiles, ATiedHeadBesideShardsBecomesAShardOfItsOwn) {
  const test::Folder work;
  const fs::path folder = work / "sharded";
  fs::copy(test::kFiles / "lm/gpt2", folder);
  const std::string shard = "model-00001-of-00001.safetensors";
  fs::rename(folder / "model.safetensors", folder / shard);
  const auto head = SafetensorsHead::read(*InputFile::open(folder / shard));
  json index = {{"metadata", {{"total_size", 1000}}}};
  for (const auto& [name, place] : head.tensors) index["weight_map"][name] = shard;
  test::write_text(folder / "model.safetensors.index.json", index.dump());
  check_folder(folder);
}

TEST(EditFiles, OtherCopiesOfTheWeightsAreLeftOut) {
  const test::Folder work;
  const fs::path folder = work / "model";
  fs::copy(test::kFiles / "lm/gpt2", folder);
  test::write_text(folder / "pytorch_model.bin", "old");
  fs::create_directory(folder / "onnx");
  const LanguageFolder found = language_folder(folder);
  EXPECT_EQ(found.kept[0], "config.json");
  EXPECT_EQ(found.left_out,
            (std::vector<std::string>{"onnx: not an ordinary file",
                                      "pytorch_model.bin: it may hold the old head"}));
}

TEST(EditFiles, NumbersAreRoundedToTheNearest) {
  FloatMatrix x(1, 6);
  x << 1.0F, -2.5F, 0.1F, 65504.0F, 6e-8F, 1.0009765F;
  const Bytes half = tensor_bytes(x, "F16");
  const std::uint16_t expected[] = {0x3c00, 0xc100, 0x2e66, 0x7bff, 0x0001, 0x3c01};
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(half[2 * i] | half[2 * i + 1] << 8, expected[i]) << i;
  const Bytes brain = tensor_bytes(x, "BF16");
  for (std::size_t i = 0; i < 6; ++i) {
    const auto bits = static_cast<std::uint32_t>(brain[2 * i] | brain[2 * i + 1] << 8)
                      << 16;
    const float value = x(0, static_cast<Index>(i));
    EXPECT_NEAR(std::bit_cast<float>(bits), value, std::abs(value) / 256) << i;
  }
  EXPECT_ERROR(tensor_bytes(x, "I8"), ErrorKind::unsupported, "dtype I8");
  x(0, 0) = 1e6F;
  EXPECT_ERROR(tensor_bytes(x, "F16"), ErrorKind::bad_value, "too large for F16");
  x(0, 0) = NAN;
  EXPECT_ERROR(tensor_bytes(x, "F32"), ErrorKind::bad_value, "not finite");
}

TEST(EditFiles, NothingIsWrittenForAWrongHead) {
  const fs::path folder = test::kFiles / "lm/gpt2";
  const LanguageModel model = LanguageModel::open(folder);
  const test::Folder work;
  OutputFiles files({});
  EXPECT_ERROR(write_language_model(folder, model.head(),
                                    FloatMatrix::Zero(3, model.cols()), files, work / "o"),
               ErrorKind::bad_shape, "the new head has 3 entries");
  EXPECT_ERROR(language_folder(folder / "config.json"), ErrorKind::unsupported,
               "only a model that is a folder");
}

}  // namespace
}  // namespace fmd
