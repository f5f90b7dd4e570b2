// How near scoring, curvature and training come to what this machine can do. The roofs are
// measured in the same run: `memory_GBs` by a plain sum over the same floats, `gemm_GFLOPs`
// by dgemm of 1024 x 1024 matrices. `share` is the part of the lower roof that was reached.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <benchmark/benchmark.h>

#include "core/lapack.h"
#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/hessian.h"
#include "fmd/data/datasets.h"
#include "fmd/fit/train.h"
#include "fmd/model/model.h"

namespace fmd {
namespace {

double seconds_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

struct Dense {
  std::vector<float> values;
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y;
  Index rows, cols;

  Dense(Index n, Index d, Index classes) : rows(n), cols(d) {
    Rng rng(1, "bench");
    for (Index i = 0; i < n * d; ++i) values.push_back(static_cast<float>(rng.normal()));
    for (Index i = 0; i < n; ++i)
      y.push_back(static_cast<std::int32_t>(rng.below(classes)));
    X = make_dense(values, n, d);
  }
  [[nodiscard]] Rows view() const { return {X.get(), y, {}, {}}; }
};

// Bytes per second of reading floats once, one thread.
double memory_rate(const std::vector<float>& values) {
  return static_cast<double>(values.size() * sizeof(float)) / seconds_of([&] {
           float sum[64] = {};
           for (std::size_t i = 0; i + 64 <= values.size(); i += 64)
             for (std::size_t k = 0; k < 64; ++k) sum[k] += values[i + k];
           benchmark::DoNotOptimize(sum);
         });
}

// Floating-point operations per second of dgemm, one thread.
double gemm_rate() {
  const int n = 1024;
  const double one = 1, zero = 0;
  std::vector<double> a(n * n, 1.0), b(n * n, 1.0), c(n * n);
  return 2.0 * n * n * n / seconds_of([&] {
           dgemm_("N", "N", &n, &n, &n, &one, a.data(), &n, b.data(), &n, &zero, c.data(),
                  &n);
         });
}

Vector small_theta(Index size) {
  Rng rng(2, "theta");
  Vector theta(size);
  for (double& t : theta) t = 0.1 * rng.normal();
  return theta;
}

void score_dense(benchmark::State& state) {
  const Index outputs = state.range(0), n = 200000, d = 100;
  static const Dense data(n, d, 2);
  const LinearHead head(d, outputs);
  const Vector theta = small_theta(head.parameters());
  for (auto _ : state)
    benchmark::DoNotOptimize(all_probabilities(head, data.view(), theta, {}));

  const double bytes = static_cast<double>(n * d) * sizeof(float);
  const double flops = 2.0 * static_cast<double>(n * (d + 1) * outputs);
  const double seconds = seconds_of(
      [&] { benchmark::DoNotOptimize(all_probabilities(head, data.view(), theta, {})); });
  const double memory = memory_rate(data.values), gemm = gemm_rate();
  state.counters["GBs"] = bytes / seconds / 1e9;
  state.counters["GFLOPs"] = flops / seconds / 1e9;
  state.counters["memory_GBs"] = memory / 1e9;
  state.counters["gemm_GFLOPs"] = gemm / 1e9;
  state.counters["share"] = std::max(bytes / memory, flops / gemm) / seconds;
}
BENCHMARK(score_dense)->Arg(1)->Arg(10)->Unit(benchmark::kMillisecond);

void hessian_dense(benchmark::State& state) {
  const Index n = 60000, d = 100, outputs = state.range(0);
  static const Dense data(n, d, 10);
  const LinearHead head(d, outputs);
  const Vector theta = small_theta(head.parameters());
  double seconds = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(hessian(head, data.view(), theta, {.l2 = 1e-3}, {}));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    seconds = std::min(seconds, time.count());
  }
  // What has to be done: the lower triangle of each pair of different classes.
  const Index pairs = outputs == 1 ? 1 : outputs * (outputs - 1) / 2;
  const double flops = static_cast<double>(n * pairs * (d + 1) * (d + 2));
  const double gemm = gemm_rate();
  state.counters["GFLOPs"] = flops / seconds / 1e9;
  state.counters["gemm_GFLOPs"] = gemm / 1e9;
  state.counters["share"] = flops / seconds / gemm;
}
BENCHMARK(hessian_dense)->Arg(1)->Arg(10)->Unit(benchmark::kMillisecond)->Iterations(2);

// 98 features, some 12 entries a row: 5 numbers and 7 categories of very different
// frequencies.
struct OneHot {
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y;
  bool real = false;

  [[nodiscard]] Rows view() const { return {X.get(), y, {}, {}}; }
};

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

OneHot adult() {
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
  const TableBackbone backbone(
      Encoder(table, inputs, std::span<const Index>(), Unseen::error));
  data.X = backbone.features(table, {}, {});
  data.y = labels(table, task);
  data.real = true;
  return data;
}

void hessian_sparse(benchmark::State& state) {
  static const OneHot data = adult();
  const LinearHead head(data.X->cols(), 1);
  const Vector theta = small_theta(head.parameters());
  for (auto _ : state)
    benchmark::DoNotOptimize(hessian(head, data.view(), theta, {.l2 = 1e-4}, {}));
  state.counters["rows"] = static_cast<double>(data.X->rows());
}
BENCHMARK(hessian_sparse)->Unit(benchmark::kMillisecond);

void gradient_sparse(benchmark::State& state) {
  static const OneHot data = adult();
  const LinearHead head(data.X->cols(), 1);
  const Vector theta = small_theta(head.parameters());
  for (auto _ : state)
    benchmark::DoNotOptimize(objective(head, data.view(), theta, 1e-4, 0, {}));
}
BENCHMARK(gradient_sparse)->Unit(benchmark::kMillisecond);

void train_sparse(benchmark::State& state) {
  static const OneHot data = adult();
  const LinearHead head(data.X->cols(), 1);
  TrainSummary summary;
  for (auto _ : state) summary = train_linear(head, data.view(), {}, {}).summary;
  state.counters["real_adult"] = data.real ? 1 : 0;
  state.counters["gradients"] = summary.iterations;
  state.counters["hessians"] = summary.factorisations;
  state.counters["converged"] = summary.status == TrainStatus::converged ? 1 : 0;
}
BENCHMARK(train_sparse)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
