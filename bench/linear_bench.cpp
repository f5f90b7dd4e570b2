// How near scoring and curvature come to what this machine can do. The roofs are
// measured in the same run: `memory_GBs` by a plain sum over the same floats, `gemm_GFLOPs`
// by dgemm of 1024 x 1024 matrices. `share` is the part of the lower roof that was reached.

#include <algorithm>
#include <functional>
#include <memory>

#include <benchmark/benchmark.h>

#include "core/lapack.h"
#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/hessian.h"
#include "fmd/model/loss.h"
#include "fmd/model/model.h"
#include "fmd/model/passes.h"
#include "stopwatch.h"

namespace fmd {
namespace {

// Seconds of CPU time, the best of some tries: everything here runs in one thread, and the
// clock on the wall also counts what other programs do.
double seconds_of(const std::function<void()>& work, int tries = 3) {
  bench::Seconds best;
  for (int repeat = 0; repeat < tries; ++repeat) best.keep_shorter(bench::time_of(work));
  return best.cpu;
}

struct Dense {
  std::vector<float> values;
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y;
  Index rows, cols;

  Dense(Index n, Index d, Index classes) : rows(n), cols(d) {
    Rng rng(1, "bench");
    values.reserve(static_cast<std::size_t>(n * d));
    for (Index i = 0; i < n * d; ++i)
      values.push_back(static_cast<float>(2 * rng.uniform() - 1));
    for (Index i = 0; i < n; ++i)
      y.push_back(static_cast<std::int32_t>(rng.below(classes)));
    X = make_dense(values, n, d);
  }
  [[nodiscard]] Rows view() const { return {X.get(), y, {}, {}}; }
};

// Bytes per second of reading floats once, one thread.
double memory_rate(const std::vector<float>& values) {
  return static_cast<double>(values.size() * sizeof(float)) / seconds_of([&] {
           float sum[32] = {};
           for (std::size_t i = 0; i + 32 <= values.size(); i += 32)
             for (std::size_t k = 0; k < 32; ++k) sum[k] += values[i + k];
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
  const auto score = [&] {
    benchmark::DoNotOptimize(all_probabilities(head, data.view(), theta, {}));
  };
  bench::Seconds best;
  double memory = 0, gemm = 0;
  // In turns: what another program takes away, it takes from the roofs as well.
  for (auto _ : state) {
    for (int turn = 0; turn < 5; ++turn) {
      for (int repeat = 0; repeat < 3; ++repeat) best.keep_shorter(bench::time_of(score));
      memory = std::max(memory, memory_rate(data.values));
      gemm = std::max(gemm, gemm_rate());
    }
    state.SetIterationTime(best.cpu);
  }

  const double bytes = static_cast<double>(n * d) * sizeof(float);
  const double flops = 2.0 * static_cast<double>(n * (d + 1) * outputs);
  state.counters["cpu_s"] = best.cpu;
  state.counters["wall_s"] = best.wall;
  state.counters["GBs"] = bytes / best.cpu / 1e9;
  state.counters["GFLOPs"] = flops / best.cpu / 1e9;
  state.counters["memory_GBs"] = memory / 1e9;
  state.counters["gemm_GFLOPs"] = gemm / 1e9;
  state.counters["share"] = std::max(bytes / memory, flops / gemm) / best.cpu;
}
BENCHMARK(score_dense)
    ->Arg(1)
    ->Arg(10)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(1);

// rows, inputs, outputs.
void hessian_dense(benchmark::State& state) {
  const Index n = state.range(0), d = state.range(1), outputs = state.range(2);
  const Dense data(n, d, classes_of(outputs));
  const LinearHead head(d, outputs);
  const Vector theta = small_theta(head.parameters());
  const auto work = [&] {
    benchmark::DoNotOptimize(hessian(head, data.view(), theta, {.l2 = 1e-3}, {}));
  };
  bench::Seconds best;
  double gemm = 0;
  for (auto _ : state) {
    for (int turn = 0; turn < 3; ++turn) {
      best.keep_shorter(bench::time_of(work));
      gemm = std::max(gemm, gemm_rate());
    }
    state.SetIterationTime(best.cpu);
  }
  // What has to be done: the lower triangle of each pair of different classes.
  const Index pairs = outputs == 1 ? 1 : outputs * (outputs - 1) / 2;
  const double flops =
      static_cast<double>(n * pairs) * static_cast<double>((d + 1) * (d + 1));
  state.counters["cpu_s"] = best.cpu;
  state.counters["wall_s"] = best.wall;
  state.counters["GFLOPs"] = flops / best.cpu / 1e9;
  state.counters["gemm_GFLOPs"] = gemm / 1e9;
  state.counters["share"] = flops / best.cpu / gemm;
}
BENCHMARK(hessian_dense)
    ->Args({60000, 100, 10})
    ->Args({200000, 512, 1})
    ->Args({30000, 100, 10})
    ->Args({120000, 100, 10})
    ->Args({60000, 50, 10})
    ->Args({60000, 200, 10})
    ->Args({60000, 100, 5})
    ->Args({60000, 100, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(1);

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
