#include "fmd/formats/model_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/data/csv.h"
#include "fmd/formats/rows_file.h"
#include "fmd/formats/safetensors.h"
#include "fmd/formats/undo.h"
#include "fmd/model/encoder_backbone.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "support/check_model_file.h"
#include "support/close.h"
#include "support/folder.h"
#include "support/problems.h"

namespace fmd {
namespace {

const char* const kTable =
    "sex,age,job,income\n"
    "Male,30,clerk,low\n"
    "Female,40,smith,high\n"
    "Male,51,cook,low\n"
    "Female,20,clerk,high\n";

Model small_model(Index outputs = 1) {
  const Table table = parse_csv(kTable, "small.csv");
  Model model;
  model.task.label = "income";
  model.task.classes = {"low", "high"};
  model.task.favorable = "high";
  model.task.attributes = {{.name = "sex", .columns = {"sex"}}};
  const std::vector<std::string> inputs = {"sex", "age", "job"};
  model.backbone = std::make_shared<const EncoderBackbone>(
      Encoder(table, inputs, std::span<const Index>(), Unseen::error));
  model.head = std::make_shared<const LinearHead>(model.backbone->cols(), outputs);
  model.theta = test::random_vector(model.head->parameters(), 3);
  model.note = {.rows = 4,
                .l2 = 0.25,
                .relative_gradient = 1e-9,
                .data = "small.csv",
                .data_sha256 = "00ff",
                .seed = 18446744073709551615ull,
                .row_hashes = row_hashes(table, model.hashed_columns())};
  std::sort(model.note.row_hashes.begin(), model.note.row_hashes.end());
  return model;
}

Model small_network() {
  Model model = small_model();
  model.head = make_head({model.backbone->cols(), 4, 3, 1}, Activation::gelu);
  model.theta = test::random_vector(model.head->parameters(), 4);
  return model;
}

TEST(ModelFile, HiddenLayersAreKept) {
  const Model model = small_network();
  const Bytes bytes = model_bytes(model);
  const Model back = parse_model(bytes, "network");
  EXPECT_EQ(back.head->widths(), model.head->widths());
  EXPECT_EQ(dynamic_cast<const MlpHead&>(*back.head).activation(), Activation::gelu);
  EXPECT_EQ(back.theta, model.theta);
  EXPECT_EQ(model_bytes(back), bytes);
  const Safetensors file = Safetensors::parse(bytes, "network");
  EXPECT_EQ(file.tensors.at("head.1.weight").shape, (std::vector<Index>{3, 4}));
}

TEST(ModelFile, DamagedHiddenLayersAreNamed) {
  const Bytes bytes = model_bytes(small_network());
  const auto error = [&](const std::string& head) {
    Safetensors file = Safetensors::parse(bytes, "good");
    file.metadata["fmd.head"] = head;
    return file.write();
  };
  const auto open = [](const Bytes& damaged) { (void)parse_model(damaged, "m"); };
  EXPECT_ERROR(open(error("{")), ErrorKind::bad_model, "'fmd.head' cannot be read");
  EXPECT_ERROR(open(error(R"({"activation": "selu", "hidden": [4, 3]})")),
               ErrorKind::bad_model, "activation is 'selu'");
  EXPECT_ERROR(open(error(R"({"activation": "relu", "hidden": []})")), ErrorKind::bad_model,
               "0 hidden layers");
  EXPECT_ERROR(open(error(R"({"activation": "relu", "hidden": [4, -3]})")),
               ErrorKind::bad_model, "a width of -3");
  EXPECT_ERROR(open(error(R"({"activation": "relu", "hidden": [4, 4611686018427387904]})")),
               ErrorKind::bad_model, "tensor 'head.1.weight' has shape 3 x 4");
  EXPECT_ERROR(open(error(R"({"activation": "relu", "hidden": [4, 3, 2]})")),
               ErrorKind::bad_model, "tensor 'head.3.weight' is missing");
}

// The model's file with something changed in it.
template <typename Change>
Bytes damaged(const Change& change) {
  const Bytes bytes = model_bytes(small_model());
  Safetensors file = Safetensors::parse(bytes, "good");
  change(file);
  return file.write();
}

TEST(ModelFile, ARoundTripKeepsEverythingAndTheBytes) {
  for (const Index outputs : {1, 2}) {
    const Model model = small_model(outputs);
    const Bytes bytes = model_bytes(model);
    const Model back = parse_model(bytes, "m.safetensors");
    EXPECT_EQ(back.theta, model.theta);
    EXPECT_EQ(back.task, model.task);
    EXPECT_EQ(encoder_of(*back.backbone), encoder_of(*model.backbone));
    EXPECT_EQ(back.head->outputs(), outputs);
    EXPECT_EQ(back.note.rows, 4);
    EXPECT_EQ(back.note.l2, 0.25);
    EXPECT_EQ(back.note.seed, model.note.seed);
    EXPECT_TRUE(back.note.row_hashes.empty());  // they are in MODEL.rows
    EXPECT_EQ(back.note.rows_sha256, hex(sha256(rows_bytes(model.note.row_hashes))));
    EXPECT_EQ(model_bytes(back), bytes);
  }
}

// Whoever has the model cannot test whether a person was among its training rows.
TEST(ModelFile, HoldsNoFingerprintOfATrainingRow) {
  const Model model = small_model();
  const Bytes bytes = model_bytes(model);
  ASSERT_EQ(model.note.row_hashes.size(), 4U);
  for (const std::uint64_t hash : model.note.row_hashes) {
    std::array<std::uint8_t, 8> wanted{};
    std::memcpy(wanted.data(), &hash, sizeof hash);
    EXPECT_EQ(std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()),
              bytes.end());
  }
}

TEST(ModelFile, FindsItsTrainingRowsBesideItOrWhereTheyAreNamed) {
  const test::Folder folder;
  const auto write = [&](const std::string& name, const Bytes& bytes) {
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  const Model model = small_model();
  const Bytes rows = rows_bytes(model.note.row_hashes);
  write("m.safetensors", model_bytes(model));
  EXPECT_TRUE(open_model(folder / "m.safetensors").note.row_hashes.empty());
  write("elsewhere", rows);
  const auto file = open_model_file(folder / "m.safetensors");
  file->use_rows(folder / "elsewhere");
  EXPECT_EQ(file->model().note.row_hashes, model.note.row_hashes);
  write("m.safetensors.rows", rows);
  EXPECT_EQ(open_model(folder / "m.safetensors").note.row_hashes, model.note.row_hashes);
  write("m.safetensors.rows", rows_bytes(std::vector<std::uint64_t>{1, 2}));
  EXPECT_ERROR((void)open_model(folder / "m.safetensors"), ErrorKind::wrong_model,
               "training rows of another model");
  write("m.safetensors.rows", model_bytes(model));
  EXPECT_ERROR((void)open_model(folder / "m.safetensors"), ErrorKind::bad_model,
               "no file of training rows");
}

// As earlier versions wrote them.
TEST(ModelFile, ReadsFingerprintsInsideAModel) {
  const Model model = small_model();
  std::vector<std::int64_t> hashes;
  for (const std::uint64_t hash : model.note.row_hashes)
    hashes.push_back(static_cast<std::int64_t>(hash));
  const Bytes bytes = model_bytes(model);
  Safetensors file = Safetensors::parse(bytes, "good");
  file.tensors["training.row_hashes"] = tensor_view(hashes, {4});
  EXPECT_EQ(parse_model(file.write(), "old").note.row_hashes, model.note.row_hashes);
}

TEST(ModelFile, NativeFilesPassTheCheckOfFormats) {
  for (const Model& model : {small_model(), small_model(2), small_network()}) {
    const test::Folder folder;
    const Bytes bytes = model_bytes(model);
    write_file(folder / "model",
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, false);
    test::check_model_file({.path = folder / "model",
                            .formats = model_formats(),
                            .table = parse_csv(kTable, "small.csv")});
  }
}

TEST(ModelFile, IsOpenedFromDisk) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / "fmd_model_file_test.safetensors";
  const Bytes bytes = model_bytes(small_model());
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, true);
  EXPECT_EQ(open_model(path).theta, small_model().theta);
  std::filesystem::remove(path);
  EXPECT_ERROR(open_model(path), ErrorKind::cannot_read, "fmd_model_file_test");
}

TEST(ModelFile, OnlyTheHeadsNumbersDifferBetweenVersionsOfAModel) {
  const Model model = small_model();
  const Bytes before = model_bytes(model);
  const Bytes after = model_bytes(with_theta(model, 2 * model.theta));
  ASSERT_EQ(before.size(), after.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < before.size(); ++i) different += before[i] != after[i];
  EXPECT_LE(different, 8 * static_cast<std::size_t>(model.theta.size()));
  EXPECT_EQ(apply_undo(make_undo(before, after), after), before);
  EXPECT_ERROR(with_theta(model, Vector::Zero(1)), ErrorKind::bad_shape, "theta");
}

TEST(ModelFile, ShapesMustFitTheEncoderAndTheClasses) {
  static const std::vector<double> zeros(100, 0.0);
  EXPECT_ERROR(parse_model(damaged([](Safetensors& f) {
                             f.tensors["head.weight"] = tensor_view(
                                 std::vector<double>(zeros.begin(), zeros.begin()), {1, 0});
                           }),
                           "m"),
               ErrorKind::bad_model, "head.weight");
  EXPECT_ERROR(parse_model(damaged([](Safetensors& f) {
                             f.tensors["head.bias"] = tensor_view(zeros, {100});
                           }),
                           "m"),
               ErrorKind::bad_model, "head.bias");
  EXPECT_ERROR(
      parse_model(damaged([](Safetensors& f) { f.tensors.erase("head.bias"); }), "m"),
      ErrorKind::bad_model, "'head.bias' is missing");
  EXPECT_ERROR(
      parse_model(damaged([](Safetensors& f) { f.metadata.erase("fmd.task"); }), "m"),
      ErrorKind::bad_model, "'fmd.task' is missing");
  EXPECT_ERROR(
      parse_model(damaged([](Safetensors& f) { f.metadata["fmd.training"] = "{"; }), "m"),
      ErrorKind::bad_model, "fmd.training");
  EXPECT_ERROR(
      parse_model(damaged([](Safetensors& f) { f.metadata["fmd.encoder"] = "[]"; }), "m"),
      ErrorKind::bad_model, "m");
}

TEST(ModelFile, WeightsMustBeFinite) {
  static const std::vector<double> bias = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_ERROR(parse_model(damaged([](Safetensors& f) {
                             f.tensors["head.bias"] = tensor_view(bias, {1});
                           }),
                           "m"),
               ErrorKind::bad_model, "not finite");
}

TEST(ModelFile, AnotherFormatNumberIsUnsupported) {
  EXPECT_ERROR(
      parse_model(damaged([](Safetensors& f) { f.metadata["fmd.format"] = "99"; }), "m"),
      ErrorKind::unsupported, "format '99'");
  EXPECT_ERROR(parse_model(damaged([](Safetensors& f) { f.metadata.clear(); }), "m"),
               ErrorKind::unsupported, "another program");
}

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

TEST(ModelFile, KindsThatCannotBeOpenedAreNamed) {
  const auto expect = [](const std::string& text, const std::string& name) {
    EXPECT_ERROR(parse_model(bytes_of(text), "f"), ErrorKind::unsupported, name);
  };
  EXPECT_ERROR(parse_model(bytes_of("PK\x03\x04 archive/data.pkl"), "f"),
               ErrorKind::bad_model, "a damaged or cut off archive");
  expect("\x80\x04\x95 cposix\nsystem", "pickle");
  expect("\x80\x04\x95 cposix\nsystem", "never executed");
  expect("{\n \"learner\": {\"gradient_booster\": {}}}", "XGBoost");
  expect("tree\nversion=v4\nnum_class=1\n", "LightGBM");
  expect(std::string("\x08\x08\x12\x07pytorch\x1a\x05") + "2.0.1 and more", "ONNX");
  expect("\x89HDF\r\n\x1a\n", "HDF5");
  EXPECT_ERROR(parse_model(Bytes{}, "f"), ErrorKind::bad_model, "empty");
  EXPECT_ERROR(parse_model(bytes_of("age,sex\n1,2\n"), "f"), ErrorKind::bad_model,
               "not a model file");
}

TEST(Model, HashesCoverInputsAndLabel) {
  EXPECT_EQ(small_model().hashed_columns(),
            (std::vector<std::string>{"sex", "age", "job", "income"}));
}

TEST(EncoderBackbone, FlipsOnlyTheAttribute) {
  const Table table = parse_csv(kTable, "small.csv");
  const Model model = small_model();
  const Attribute sex = read_attribute(table, model.task.attributes[0]);
  const PairPlan plan = flip_plan(sex);
  const auto c = model.backbone->features(table, plan.row, {});
  const auto cbar = model.backbone->flipped(
      nullptr, *model.backbone->features(table, {}, {}), sex, plan, {});
  const Rows a{c.get(), {}, {}, {}}, b{cbar.get(), {}, {}, {}};
  const Matrix z = all_logits(*model.head, a, model.theta, {});
  const Matrix flipped = all_logits(*model.head, b, model.theta, {});
  EXPECT_TRUE(model.backbone->inputs().reads(sex));
  const EncodedColumn& column = *encoder_of(*model.backbone).find("sex");
  ASSERT_EQ(column.features, 1);
  for (Index i = 0; i < plan.size(); ++i)
    EXPECT_CLOSE(std::abs(z(i, 0) - flipped(i, 0)), std::abs(model.theta[column.first]),
                 1e-12);
}

}  // namespace
}  // namespace fmd
