// Training on the Adult table (45,222 rows, 98 features) to a relative gradient of 1e-8,
// and the two passes it consists of. `--write=FILE` leaves features, labels and the optimum
// as safetensors, for other programs to be timed on the same matrix.

#include "fmd/fit/train.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include <benchmark/benchmark.h>

#include "fmd/core/blas.h"
#include "fmd/core/output_files.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/hessian.h"
#include "fmd/data/datasets.h"
#include "fmd/formats/safetensors.h"
#include "fmd/model/encoder_backbone.h"
#include "fmd/model/model.h"
#include "fmd/model/passes.h"
#include "stopwatch.h"

namespace fmd {
namespace {

Vector small_theta(Index size) {
  Rng rng(2, "theta");
  Vector theta(size);
  for (double& t : theta) t = 0.1 * rng.normal();
  return theta;
}

struct OneHot {
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y;
  bool real = false;

  [[nodiscard]] Rows view() const { return {X.get(), y, {}, {}}; }
};

// Where the table is absent: as many features, some 12 entries a row, 5 numbers and 7
// categories of very different frequencies.
OneHot adult_like() {
  OneHot data;
  Rng rng(4, "adult-like");
  const std::vector<Index> levels = {7, 14, 41, 7, 14, 6, 4};
  const Vector truth = small_theta(98);
  CsrRows csr;
  csr.cols = 98;
  for (Index i = 0; i < 45222; ++i) {
    double z = -1;
    const auto put = [&](Index column, double value) {
      csr.column.push_back(static_cast<std::int32_t>(column));
      csr.value.push_back(static_cast<float>(value));
      z += 10 * truth[column] * value;
    };
    for (Index j = 0; j < 5; ++j) put(j, rng.normal());
    Index first = 5;
    for (const Index count : levels) {
      const double u = rng.uniform();
      put(first + static_cast<Index>(u * u * u * static_cast<double>(count)), 1);
      first += count;
    }
    csr.start.push_back(static_cast<Index>(csr.column.size()));
    data.y.push_back(rng.uniform() < 1 / (1 + std::exp(-z)) ? 1 : 0);
  }
  data.X = make_sparse(std::move(csr));
  return data;
}

OneHot load_adult() {
  const char* folder = std::getenv("FMD_DATA");
  if (folder == nullptr ||
      !std::filesystem::exists(std::filesystem::path(folder) / "adult"))
    return adult_like();
  OneHot data;
  const Table table = load_dataset("adult", folder);
  const Task& task = find_dataset("adult").task;
  std::vector<std::string> inputs;
  for (const Column& column : table.columns) {
    const bool left_out =
        column.name == task.label ||
        std::find(task.ignore.begin(), task.ignore.end(), column.name) != task.ignore.end();
    if (!left_out) inputs.push_back(column.name);
  }
  const EncoderBackbone backbone(
      Encoder(table, inputs, std::span<const Index>(), Unseen::error));
  data.X = backbone.features(table, {}, {});
  data.y = labels(table, task);
  data.real = true;
  return data;
}

const OneHot& adult() {
  static const OneHot data = load_adult();
  return data;
}

void hessian_sparse(benchmark::State& state) {
  const OneHot& data = adult();
  const LinearHead head(data.X->cols(), 1);
  const Vector theta = small_theta(head.parameters());
  bench::run(state, [&] {
    benchmark::DoNotOptimize(hessian(head, data.view(), theta, {.l2 = 1e-4}, {}));
  });
}

void gradient_sparse(benchmark::State& state) {
  const OneHot& data = adult();
  const LinearHead head(data.X->cols(), 1);
  const Vector theta = small_theta(head.parameters());
  bench::run(state, [&] {
    benchmark::DoNotOptimize(objective(head, data.view(), theta, 1e-4, 0, {}));
  });
}

void train(benchmark::State& state) {
  const OneHot& data = adult();
  const LinearHead head(data.X->cols(), 1);
  TrainSummary summary;
  bench::run(state, [&] { summary = train_linear(head, data.view(), {}, {}).summary; });
  state.counters["rows"] = static_cast<double>(data.X->rows());
  state.counters["features"] = static_cast<double>(data.X->cols());
  state.counters["real_adult"] = data.real ? 1 : 0;
  state.counters["gradients"] = summary.iterations;
  state.counters["hessians"] = summary.factorisations;
  state.counters["relative_gradient"] = summary.relative_gradient;
  state.counters["converged"] = summary.status == TrainStatus::converged ? 1 : 0;
}

// X (rows x features), y, and theta: the weights, then the intercept.
void write(const std::filesystem::path& path) {
  const OneHot& data = adult();
  const LinearHead head(data.X->cols(), 1);
  const Vector theta = train_linear(head, data.view(), {}, {}).theta;
  const Index rows = data.X->rows(), cols = data.X->cols();
  std::vector<float> X(static_cast<std::size_t>(rows * cols));
  Scratch scratch;
  for (Index b = 0, done = 0; done < rows; ++b) {
    const FeatureBlock block = data.X->block(b, scratch);
    for (Index i = 0; i < block.rows; ++i, ++done) {
      const auto first = block.start[static_cast<std::size_t>(i)];
      const auto last = block.start[static_cast<std::size_t>(i) + 1];
      for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(last);
           ++k)
        X[static_cast<std::size_t>(done * cols + block.column[k])] =
            block.value.empty() ? 1.0F : block.value[k];
    }
  }
  const std::vector<double> optimum(theta.begin(), theta.end());
  const std::vector<std::int64_t> y(data.y.begin(), data.y.end());
  Safetensors file;
  file.tensors["X"] = tensor_view(X, {rows, cols});
  file.tensors["y"] = tensor_view(y, {rows});
  file.tensors["theta"] = tensor_view(optimum, {theta.size()});
  const Bytes bytes = file.write();
  std::filesystem::create_directories(path.parent_path());
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, true);
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  constexpr std::string_view kWrite = "--write=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kWrite)) continue;
    fmd::write(argument.substr(kWrite.size()));
  }
  const auto add = [](const char* name, void (*function)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, function)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  add("train", fmd::train);
  add("hessian_sparse", fmd::hessian_sparse);
  add("gradient_sparse", fmd::gradient_sparse);
  benchmark::RunSpecifiedBenchmarks();
}
