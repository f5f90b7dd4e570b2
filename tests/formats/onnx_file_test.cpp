#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/rng.h"
#include "fmd/formats/model_file.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

std::filesystem::path onnx_path(const std::string& name) {
  return std::filesystem::path(FMD_TEST_DIR) / "files/onnx" / (name + ".onnx");
}

Bytes file_bytes(const std::filesystem::path& path) {
  const FileView file = FileView::open(path);
  return {file.bytes().begin(), file.bytes().end()};
}

// What is known of each model that tools/make_onnx.py made.
struct Known {
  std::vector<Index> widths;
  Link link;
  Index parameters;
};
const std::map<std::string, Known>& known_models() {
  static const std::map<std::string, Known> models = {
      {"matmul", {{6, 4, 2}, Link::softmax, 38}},
      {"gemm", {{6, 1}, Link::sigmoid, 7}},
      {"listed", {{6, 2}, Link::softmax, 12}},
      {"constant", {{6, 1}, Link::sigmoid, 7}},
      {"words", {{2, 2}, Link::softmax, 6}},
      {"torch", {{6, 8, 5, 2}, Link::softmax, 113}},
      {"dynamo", {{6, 8, 5, 2}, Link::softmax, 113}},
      {"outside", {{6, 8, 5, 2}, Link::softmax, 113}},
      {"pictures", {{16, 2}, Link::softmax, 34}},
      {"text", {{8, 3}, Link::softmax, 27}},
      {"two", {{8, 1}, Link::sigmoid, 9}},
      {"skl", {{6, 1}, Link::sigmoid, 7}},
      {"skl_three", {{6, 3}, Link::softmax, 21}},
  };
  return models;
}

// A theta that a file of floats holds exactly.
Vector moved(const Vector& theta) {
  Vector changed = theta;
  for (Index i = 0; i < changed.size(); ++i)
    changed[i] = static_cast<float>(changed[i] + 0.25 * static_cast<double>(i % 7) - 0.5);
  return changed;
}

}  // namespace

TEST(OnnxFile, HeadsOfAllExportersAreFound) {
  for (const auto& [name, known] : known_models()) {
    SCOPED_TRACE(name);
    const auto file = open_model_file(onnx_path(name));
    EXPECT_EQ(file->model().head->widths(), known.widths);
    EXPECT_EQ(file->model().head->link(), known.link);
    EXPECT_EQ(file->model().theta.size(), known.parameters);
    EXPECT_EQ(file->details().back().first, "below");
    EXPECT_EQ(file->format(), "ONNX");
  }
}

TEST(OnnxFile, ClassesComeFromTheModelOrAreNumbers) {
  EXPECT_EQ(open_model(onnx_path("skl")).task.classes,
            (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(open_model(onnx_path("text")).task.classes,
            (std::vector<std::string>{"0", "1", "2"}));
}

TEST(OnnxFile, GemmHasItsFactorsInTheParameters) {
  // The file stores w and c; the answer is sigmoid(0.5 w h + 2 c).
  const auto file = open_model_file(onnx_path("gemm"));
  const Patch patch =
      file->patch(with_theta(file->model(), 2.0 * Vector(file->model().theta)));
  const auto changed = apply_patch(file->files(), patch).at("");
  const auto again =
      open_model_file(FileSet::in_memory(onnx_path("gemm"), {{"", changed}}));
  EXPECT_CLOSE(again->model().theta, 2.0 * Vector(file->model().theta), 1e-15);
}

TEST(OnnxFile, APatchOfTheSameNumbersIsEmpty) {
  for (const auto& [name, known] : known_models()) {
    SCOPED_TRACE(name);
    const auto file = open_model_file(onnx_path(name));
    const Patch patch = file->patch(file->model());
    EXPECT_TRUE(patch.ranges.empty());
    EXPECT_TRUE(patch.added.empty());
  }
}

TEST(OnnxFile, NewNumbersAreReadBackAndTheBackboneStaysTheSame) {
  for (const auto& [name, known] : known_models()) {
    SCOPED_TRACE(name);
    const auto file = open_model_file(onnx_path(name));
    const Vector wanted = moved(file->model().theta);
    const auto changed =
        apply_patch(file->files(), file->patch(with_theta(file->model(), wanted))).at("");
    const auto again =
        open_model_file(FileSet::in_memory(onnx_path(name), {{"", changed}}));
    EXPECT_CLOSE(again->model().theta, wanted, 1e-7);
    EXPECT_EQ(again->model().backbone->hash(), file->model().backbone->hash());
    if (name == "outside") continue;  // its numbers move into the file
    const Bytes original = file_bytes(onnx_path(name));
    ASSERT_EQ(changed.size(), original.size());
    Index different = 0;
    for (std::size_t i = 0; i < original.size(); ++i)
      different += original[i] != changed[i];
    EXPECT_LE(different, 8 * 2 * known.parameters);  // two rows in skl, 8 bytes in gemm
  }
}

TEST(OnnxFile, ABackboneThatDiffersHasAnotherHash) {
  const auto file = open_model_file(onnx_path("pictures"));
  Bytes bytes = file_bytes(onnx_path("pictures"));
  const std::string word = "below.0.weight";
  const auto at =
      std::search(bytes.begin(), bytes.end(), word.begin(), word.end(),
                  [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  ASSERT_NE(at, bytes.end());
  // Any byte of the convolution's numbers, which stand after its name.
  const auto name =
      std::search(at + 1, bytes.end(), word.begin(), word.end(),
                  [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  const auto place = (name == bytes.end() ? at : name) + 60;
  *place = static_cast<std::uint8_t>(*place ^ 1U);
  const auto other =
      open_model_file(FileSet::in_memory(onnx_path("pictures"), {{"", bytes}}));
  EXPECT_NE(other->model().backbone->hash(), file->model().backbone->hash());
}

TEST(OnnxFile, EveryCutAndEveryFlippedByteIsReadOrRefused) {
  for (const std::string name : {"torch", "skl", "listed", "outside"}) {
    SCOPED_TRACE(name);
    const Bytes original = file_bytes(onnx_path(name));
    const auto try_bytes = [&](const Bytes& bytes) {
      try {
        const auto file =
            open_model_file(FileSet::in_memory(onnx_path(name), {{"", bytes}}));
        static_cast<void>(file->details());
        static_cast<void>(
            file->patch(with_theta(file->model(), moved(file->model().theta))));
      } catch (const Error&) {
      }
    };
    for (std::size_t length = 0; length < original.size(); length += 3)
      try_bytes({original.begin(), original.begin() + static_cast<std::ptrdiff_t>(length)});
    for (std::size_t i = 0; i < original.size(); ++i) {
      Bytes bytes = original;
      bytes[i] = static_cast<std::uint8_t>(bytes[i] ^ (1U << (i % 8)));
      try_bytes(bytes);
    }
  }
}

TEST(OnnxFile, AThetaOfAnotherSizeIsAnError) {
  const auto file = open_model_file(onnx_path("torch"));
  Model changed = file->model();
  changed.theta.conservativeResize(5);
  EXPECT_ERROR(file->patch(changed), ErrorKind::bad_shape, "theta");
}

TEST(OnnxFile, ExternalDataMustStandBesideTheModel) {
  const test::Folder folder;
  const auto path = folder.path() / "outside.onnx";
  std::filesystem::copy_file(onnx_path("outside"), path);
  EXPECT_ERROR(open_model_file(path), ErrorKind::bad_model, "outside.onnx.data");
}

}  // namespace fmd
