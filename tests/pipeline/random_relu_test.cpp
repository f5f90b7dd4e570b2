#include <cmath>

#include <gtest/gtest.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/fit/train.h"
#include "pipeline/tables.h"
#include "support/check_backbone.h"
#include "support/check_model_file.h"
#include "support/drive.h"

// A backbone of another kind: random ReLU features of a tensor and of one column. Nothing
// outside this file knows it, nor its file format.
namespace fmd {
namespace {

constexpr Index kPixels = 16;

class RandomRelu final : public Backbone {
 public:
  RandomRelu(std::uint64_t seed, Index cols) : R_(cols, kPixels + 2) {
    Rng rng(seed, "random relu");
    for (double& r : R_.reshaped()) r = rng.normal() / 4;
    inputs_.columns = {{"group", ColumnKind::category, {"a", "b"}, true}};
    inputs_.tensors = {"image"};
  }
  [[nodiscard]] Index cols() const override { return R_.rows(); }
  [[nodiscard]] Hash hash() const override {
    return sha256(
        {reinterpret_cast<const std::uint8_t*>(R_.data()), at(R_.size()) * sizeof(double)});
  }
  [[nodiscard]] const InputSchema& inputs() const override { return inputs_; }
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> some,
                                                   const Exec& exec) const override {
    const TensorColumn& image = inputs.tensor("image");
    const Column& group = inputs.table->column("group");
    std::vector<Index> rows(some.begin(), some.end());
    for (Index i = 0; some.empty() && i < inputs.rows(); ++i) rows.push_back(i);
    std::vector<float> values(rows.size() * at(cols()));
    exec.for_each(block_count(std::ssize(rows)), [&](Index b) {
      const auto part =
          std::span(rows)
              .subspan(at(b * kBlockRows))
              .first(std::min(at(kBlockRows), rows.size() - at(b * kBlockRows)));
      std::vector<float> pixels(part.size() * kPixels);
      image.read(part, pixels.data());
      for (std::size_t i = 0; i < part.size(); ++i) {
        Vector x = Vector::Ones(kPixels + 2);
        for (Index j = 0; j < kPixels; ++j)
          x[j] = static_cast<double>(pixels[i * kPixels + at(j)]);
        x[kPixels] = group.text(part[i]) == "b" ? 2 : 0;
        for (Index f = 0; f < cols(); ++f)
          values[(at(b * kBlockRows) + i) * at(cols()) + at(f)] =
              static_cast<float>(std::max(0.0, R_.row(f).dot(x)));
      }
    });
    return make_dense(std::move(values), std::ssize(rows), cols());
  }

 private:
  Matrix R_;
  InputSchema inputs_;
};

// "relu", seed, number of features, the task; then theta as doubles.
class ReluFile final : public ModelFile {
 public:
  explicit ReluFile(FileSet files) : ModelFile(std::move(files)) {
    const std::string text(bytes().begin(), bytes().end());
    const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
    unsigned seed = 0;
    int cols = 0;
    if (second == std::string::npos ||
        std::sscanf(text.c_str(), "relu %u %d", &seed, &cols) != 2 || cols < 1 ||
        cols > 999)
      throw Error(ErrorKind::bad_model, "relu: the first line is wrong");
    start_ = second + 1;
    model_.task = task_from_json(text.substr(first + 1, second - first - 1), "relu");
    model_.backbone = std::make_shared<const RandomRelu>(seed, cols);
    model_.head = std::make_shared<const LinearHead>(cols, 1);
    model_.theta.resize(cols + 1);
    if (text.size() - start_ != at(cols + 1) * sizeof(double))
      throw Error(ErrorKind::bad_model, "relu: theta has another length");
    std::memcpy(model_.theta.data(), text.data() + start_, text.size() - start_);
    model_.note.l2 = 1e-3;
  }
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] Patch patch(const Model& changed) const override {
    const auto* from = reinterpret_cast<const std::uint8_t*>(changed.theta.data());
    const Index size = changed.theta.size() * Index{sizeof(double)};
    return {{{"", static_cast<Index>(start_), size, {from, from + size}}}, {}};
  }

 private:
  Model model_;
  std::size_t start_ = 0;
};

ModelFormats with_relu() {
  ModelFormats formats = model_formats();
  formats.insert(formats.begin(),
                 {"relu",
                  [](const std::filesystem::path&, std::span<const std::uint8_t> first) {
                    return first.size() > 5 && std::memcmp(first.data(), "relu ", 5) == 0;
                  },
                  [](FileSet files) -> std::unique_ptr<ModelFile> {
                    return std::make_unique<ReluFile>(std::move(files));
                  }});
  return formats;
}

// The images of a row follow from its number x; a file of tables does not hold them.
void add_images(Table& table) {
  const auto x = std::make_shared<std::vector<double>>(table.column("x").numbers);
  table.tensors = {{"image", {4, 4}, [x](std::span<const Index> rows, float* into) {
                      for (const Index row : rows)
                        for (Index j = 0; j < kPixels; ++j)
                          *into++ = static_cast<float>(
                              std::sin((*x)[at(row)] * static_cast<double>(j + 1) / 5));
                    }}};
}

struct Trained {
  test::Parts parts;
  Model model;
};

Trained trained() {
  Table table = test::number_of_columns(10000, 5);
  add_images(table);
  Trained made{test::split_table(table, test::made_up_task(), 3), {}};
  made.model.task = made.parts.task;
  made.model.task.attributes.pop_back();  // "third" is no input
  made.model.backbone = std::make_shared<const RandomRelu>(7, 24);
  const LinearHead head(24, 1);
  const auto X = made.model.backbone->features(made.parts.train, {}, {});
  const std::vector<std::int32_t> y = labels(made.parts.train, made.model.task);
  made.model.theta = train_linear(head, {.X = X.get(), .y = y, .weight = {}, .subset = {}},
                                  {.l2 = 1e-3}, {})
                         .theta;
  made.model.head = std::make_shared<const LinearHead>(head);
  return made;
}

void write_relu(const Model& model, const std::filesystem::path& path) {
  std::string text = "relu 7 24\n" + to_json(model.task) + "\n";
  text.append(reinterpret_cast<const char*>(model.theta.data()),
              at(model.theta.size()) * sizeof(double));
  test::write_text(path, text);
}

TEST(RandomReluProof, TheBackbonePassesTheCheck) {
  const Trained made = trained();
  test::check_backbone(*made.model.backbone, made.parts.train,
                       {read_attribute(made.parts.train, made.model.task.attributes[0])});
  const RandomRelu same(7, 24), other(8, 24), wider(7, 25);
  test::check_hashes(*made.model.backbone, {&same}, {&other, &wider});
  Table without = made.parts.test;
  without.tensors.clear();
  EXPECT_ERROR(made.model.backbone->features(without, {}, {}), ErrorKind::missing_column,
               "image");
}

TEST(RandomReluProof, TheFilePassesTheCheck) {
  const Trained made = trained();
  const test::Folder folder;
  write_relu(made.model, folder / "model");
  test::check_model_file({folder / "model", with_relu(), made.parts.test});
}

TEST(RandomReluProof, EveryMethodWorks) {
  const Trained made = trained();
  const test::DriveTables tables{made.parts.train, made.parts.repair, made.parts.test};
  Model model = made.model;
  model.note.l2 = 1e-3;
  test::drive_methods(model, tables, "group", {});
  EXPECT_GT(test::drive_compare(model, tables, {}).methods.size(), 5u);
}

TEST(RandomReluProof, GoesThroughAuditExplainDebiasVerifyAndUndo) {
  const Trained made = trained();
  const test::Folder folder;
  write_relu(made.model, folder / "model");
  ThreadPool pool(2);
  const test::Driven driven =
      test::drive_file(folder / "model", with_relu(),
                       {made.parts.train, made.parts.repair, made.parts.test, add_images},
                       "group", {.pool = &pool});
  EXPECT_GT(driven.gap(0), 0.05);
  EXPECT_LT(driven.gap(1), 0.5 * driven.gap(0));
  EXPECT_EQ(driven.explained.measures.size(), 1u);
  EXPECT_TRUE(driven.repaired.model_files.empty());
}

}  // namespace
}  // namespace fmd
