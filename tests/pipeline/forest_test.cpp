#include <cmath>
#include <fstream>
#include <iostream>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/fit/train.h"
#include "pipeline/tables.h"
#include "support/check_backbone.h"
#include "support/check_head.h"
#include "support/check_model_file.h"
#include "support/drive.h"

// A model of another kind: a small ensemble of trees with three classes. Features are
// leaves (sparse ones), each counts for the class of its tree, there is no intercept, and a
// base margin stands in the logits. Its format has two files. Nothing outside this file
// knows it.
namespace fmd {
namespace {

using Json = nlohmann::json;

// Tree t asks x < cut[t] and group = b: four leaves, for class t modulo 3.
class Forest final : public Backbone {
 public:
  Forest(std::vector<double> cuts, std::vector<double> base)
      : cuts_(std::move(cuts)), base_(std::move(base)) {
    inputs_.columns = {{"x", ColumnKind::number, {}, true},
                       {"group", ColumnKind::category, {"a", "b"}, true}};
  }
  [[nodiscard]] Index cols() const override { return 4 * std::ssize(cuts_); }
  [[nodiscard]] Hash hash() const override {
    const std::string text = Json{cuts_, base_}.dump();
    return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  [[nodiscard]] const InputSchema& inputs() const override { return inputs_; }
  [[nodiscard]] Sparsity sparsity() const override {
    return {.entries = std::ssize(cuts_), .ones = true};
  }
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> some,
                                                   const Exec&) const override {
    const std::vector<double>& x = inputs.table->column("x").numbers;
    const Column& group = inputs.table->column("group");
    CsrRows leaves;
    leaves.cols = cols();
    std::vector<double> margin;
    const Index count = some.empty() ? inputs.rows() : std::ssize(some);
    for (Index i = 0; i < count; ++i) {
      const Index row = some.empty() ? i : some[at(i)];
      for (std::size_t t = 0; t < cuts_.size(); ++t)
        leaves.column.push_back(static_cast<std::int32_t>(4 * t) +
                                (x[at(row)] < cuts_[t] ? 0 : 2) +
                                (group.text(row) == "b" ? 1 : 0));
      leaves.start.push_back(std::ssize(leaves.column));
      for (std::size_t k = 0; k < 3; ++k)  // the base margin follows x in class 0
        margin.push_back(base_[k] + (k == 0 ? 0.1 * x[at(row)] : 0));
    }
    return make_offset(make_sparse(std::move(leaves)), std::move(margin), 3);
  }

 private:
  std::vector<double> cuts_, base_;
  InputSchema inputs_;
};

std::shared_ptr<const LinearHead> leaf_head(Index leaves) {
  LinearHeadOptions options{.intercept = false};
  for (Index j = 0; j < leaves; ++j)
    options.output_of.push_back(static_cast<std::int32_t>(j / 4 % 3));
  return std::make_shared<const LinearHead>(leaves, 3, options);
}

// "forest" and JSON; the leaves are float32 at the end of a file beside it.
class ForestFile final : public ModelFile {
 public:
  explicit ForestFile(FileSet files) : ModelFile(read_all(std::move(files))) {
    const Json json = parse(bytes());
    model_.task = task_from_json(json["task"].get<std::string>(), "forest");
    model_.backbone = std::make_shared<const Forest>(
        json["cuts"].get<std::vector<double>>(), json["base"].get<std::vector<double>>());
    model_.head = leaf_head(model_.backbone->cols());
    name_ = json["leaves"].get<std::string>();
    const auto leaves = this->files().at(name_);
    const std::size_t size = at(model_.backbone->cols()) * sizeof(float);
    if (leaves.size() != json["size"].get<std::size_t>() || leaves.size() < size)
      throw Error(ErrorKind::bad_model, "forest: the leaves have another size");
    start_ = leaves.size() - size;
    std::vector<float> values(at(model_.backbone->cols()));
    std::memcpy(values.data(), leaves.data() + start_, size);
    model_.theta =
        Eigen::Map<const Eigen::VectorXf>(values.data(), std::ssize(values)).cast<double>();
    model_.note.l2 = 1e-3;
  }
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] Patch patch(const Model& changed) const override {
    const Eigen::VectorXf values = changed.theta.cast<float>();
    const auto* from = reinterpret_cast<const std::uint8_t*>(values.data());
    const Index size = values.size() * Index{sizeof(float)};
    return {{{name_, static_cast<Index>(start_), size, {from, from + size}}}, {}};
  }

 private:
  static Json parse(std::span<const std::uint8_t> bytes) {
    const std::string text(bytes.begin() + 7, bytes.end());
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.contains("leaves"))
      throw Error(ErrorKind::bad_model, "forest: this is no forest");
    return json;
  }
  static FileSet read_all(FileSet files) {
    (void)files.bytes(parse(files.bytes())["leaves"].get<std::string>());
    return files;
  }
  Model model_;
  std::string name_;
  std::size_t start_ = 0;
};

ModelFormats with_forest() {
  ModelFormats formats = model_formats();
  formats.push_back({"forest",
                     [](const std::filesystem::path&, std::span<const std::uint8_t> first) {
                       return first.size() >= 7 &&
                              std::memcmp(first.data(), "forest\n", 7) == 0;
                     },
                     [](FileSet files) -> std::unique_ptr<ModelFile> {
                       return std::make_unique<ForestFile>(std::move(files));
                     }});
  return formats;
}

Table three_classes(Index rows) {
  Table table = test::number_of_columns(rows, 9);
  Rng rng(4, "three classes");
  Column& y = table.columns[3];
  y.levels = {"low", "mid", "high"};
  for (std::size_t i = 0; i < y.codes.size(); ++i) {
    const double z =
        table.columns[0].numbers[i] + 0.6 * table.columns[1].codes[i] + 0.7 * rng.normal();
    y.codes[i] = z < 0 ? 0 : z < 1.3 ? 1 : 2;
  }
  return table;
}

struct Grown {
  test::Parts parts;
  Model model;
};

Grown grown() {
  Task task = test::made_up_task();
  task.attributes.pop_back();
  task.classes = {"low", "mid", "high"};
  task.favorable = "high";
  Grown made{test::split_table(three_classes(10000), task, 3), {}};
  made.model.task = task;
  std::vector<double> cuts;
  for (int t = 0; t < 12; ++t) cuts.push_back(-1.5 + t / 4.0);
  made.model.backbone =
      std::make_shared<const Forest>(cuts, std::vector<double>{0.2, 0, -0.3});
  const auto head = leaf_head(made.model.backbone->cols());
  const auto X = made.model.backbone->features(made.parts.train, {}, {});
  const std::vector<std::int32_t> y = labels(made.parts.train, task);
  made.model.head = head;
  made.model.theta = train_linear(*head, {.X = X.get(), .y = y, .weight = {}, .subset = {}},
                                  {.l2 = 1e-3}, {})
                         .theta;
  return made;
}

// ballast: zeros before the leaves.
void write_forest(const Model& model, const std::filesystem::path& path, Index ballast) {
  std::vector<double> cuts;
  for (int t = 0; t < 12; ++t) cuts.push_back(-1.5 + t / 4.0);
  const Eigen::VectorXf values = model.theta.cast<float>();
  const auto size = static_cast<std::size_t>(values.size()) * sizeof(float);
  test::write_text(path, "forest\n" + Json{{"task", to_json(model.task)},
                                           {"cuts", cuts},
                                           {"base", {0.2, 0.0, -0.3}},
                                           {"leaves", "leaves.bin"},
                                           {"size", at(ballast) + size}}
                                          .dump());
  std::ofstream leaves(path.parent_path() / "leaves.bin", std::ios::binary);
  leaves.seekp(ballast);
  leaves.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(size));
}

TEST(ForestProof, BackboneAndHeadPassTheChecks) {
  const Grown made = grown();
  test::check_backbone(*made.model.backbone, made.parts.train,
                       {read_attribute(made.parts.train, made.model.task.attributes[0])});
  const Forest other({1, 2}, {0, 0, 0}), base({1, 2}, {0, 0, 1}), same({1, 2}, {0, 0, 0});
  test::check_hashes(other, {&same}, {&base, made.model.backbone.get()});
  const auto X = made.model.backbone->features(
      select(made.parts.test, std::vector<Index>{0, 1, 2, 3, 4, 5}), {}, {});
  test::check_head(*made.model.head, *X, made.model.theta);
}

TEST(ForestProof, FilesPassTheCheck) {
  const Grown made = grown();
  const test::Folder folder;
  write_forest(made.model, folder / "model.forest", 1000);
  test::check_model_file({folder / "model.forest", with_forest(), made.parts.test, 1e-6});
}

TEST(ForestProof, GoesThroughAuditExplainDebiasVerifyAndUndo) {
  const Grown made = grown();
  const test::Folder folder;
  write_forest(made.model, folder / "model.forest", 100);
  ThreadPool pool(2);
  const test::Driven driven = test::drive_file(
      folder / "model.forest", with_forest(),
      {made.parts.train, made.parts.repair, made.parts.test}, "group", {.pool = &pool});
  EXPECT_GT(driven.gap(0), 0.05);
  EXPECT_LT(driven.gap(1), 0.5 * driven.gap(0));
  ASSERT_EQ(driven.repaired.model_files.size(), 2u);
  EXPECT_EQ(driven.repaired.model_files[0].name, "model.forest");
  EXPECT_EQ(driven.repaired.model_files[0].sha256_before,
            driven.repaired.model_files[0].sha256_after);
  EXPECT_NE(driven.repaired.model_files[1].sha256_before,
            driven.repaired.model_files[1].sha256_after);
}

TEST(ForestProof, EveryMethodWorks) {
  const Grown made = grown();
  const test::DriveTables tables{made.parts.train, made.parts.repair, made.parts.test};
  Model model = made.model;
  model.note.l2 = 1e-3;
  test::drive_methods(model, tables, "group", {});
  EXPECT_GT(test::drive_compare(model, tables, {}).methods.size(), 5u);
}

// Flipped leaves and base margins are kept too, and a repaired model finds them.
TEST(ForestProof, AFileOfFeaturesStandsForTheTable) {
  const Grown made = grown();
  Table table = made.parts.train;
  table.columns[1].codes[7] = table.columns[1].codes[4999] =
      -1;  // nobody knows their group
  table.columns[1].missing = 2;
  const Model repaired = with_theta(made.model, 0.5 * made.model.theta);
  for (const Model* model : {&made.model, &repaired})
    test::expect_same_audit(test::drive_features(made.model, *model, table, {}),
                            test::drive_audit(*model, table, {}), "group");
  Model other = made.model;
  other.backbone = std::make_shared<const Forest>(std::vector<double>(12, 0.5),
                                                  std::vector<double>{0, 0, 0});
  EXPECT_ERROR(test::drive_features(made.model, other, table, {}), ErrorKind::bad_model,
               "made by another model");
}

Index peak_memory() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (Index kilobytes = 0; word == "VmHWM:" && in >> kilobytes) return kilobytes * 1024;
  return 0;
}

// 2 GB of numbers that no repair looks at: audit, explain, debias, verify and undo.
TEST(ForestProofFull, ALargeModelNeedsLittleMemory) {
  const Grown made = grown();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("fmd-large-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "work");
  write_forest(made.model, folder / "model.forest", Index{2} << 30);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins again
  const test::Driven driven = test::drive_file(
      folder / "model.forest", with_forest(),
      {made.parts.train, made.parts.repair, made.parts.test}, "group", {}, folder / "work");
  const Index peak = peak_memory();
  std::filesystem::remove_all(folder);
  EXPECT_LT(driven.gap(1), 0.5 * driven.gap(0));
  EXPECT_GT(peak, 0);
  EXPECT_LT(peak, Index{200} << 20);
  std::cout << "peak memory: " << (peak >> 20) << " MB\n";
}

}  // namespace
}  // namespace fmd
