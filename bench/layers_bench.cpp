// How near products with the curvature of a network's top layers come to the rate of dgemm,
// measured in turns in the same run, one thread. `share` is the part of it that was
// reached, counting what has to be done: two matrix products for J v and two for J^T h in
// each layer, less the one that the lowest needs not in either.

#include <algorithm>

#include <benchmark/benchmark.h>

#include "core/lapack.h"
#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/fit/adam.h"
#include "fmd/model/mlp_head.h"
#include "stopwatch.h"

namespace fmd {
namespace {

double gemm_rate() {
  const int n = 1024;
  const double one = 1, zero = 0;
  std::vector<double> a(n * n, 1.0), b(n * n, 1.0), c(n * n);
  bench::Seconds best;
  for (int repeat = 0; repeat < 3; ++repeat)
    best.keep_shorter(bench::time_of([&] {
      dgemm_("N", "N", &n, &n, &n, &one, a.data(), &n, b.data(), &n, &zero, c.data(), &n);
    }));
  return 2.0 * n * n * n / best.cpu;
}

// 10,000 rows; widths as the top layers of the Colored MNIST network have them.
void gauss_newton_product(benchmark::State& state) {
  const Index rows = 10000, layers = state.range(0);
  std::vector<Index> widths(static_cast<std::size_t>(layers), 100);
  widths.push_back(10);
  const auto head = make_head(widths, Activation::relu);
  Rng rng(1, "bench");
  std::vector<float> values(static_cast<std::size_t>(rows * 100));
  for (float& value : values) value = static_cast<float>(std::max(0.0, rng.normal()));
  std::vector<std::int32_t> y;
  for (Index i = 0; i < rows; ++i) y.push_back(static_cast<std::int32_t>(rng.below(10)));
  const auto X = make_dense(std::move(values), rows, 100);
  const Vector theta = initial_theta(*head, 1), v = initial_theta(*head, 2);
  const GaussNewton product(*head, {X.get(), y, {}, {}}, theta, {.l2 = 1e-4}, {});
  bench::Seconds best;
  double gemm = 0;
  for (auto _ : state) {
    for (int turn = 0; turn < 5; ++turn) {
      for (int repeat = 0; repeat < 4; ++repeat)
        best.keep_shorter(
            bench::time_of([&] { benchmark::DoNotOptimize(product.apply(v)); }));
      gemm = std::max(gemm, gemm_rate());
    }
    state.SetIterationTime(best.cpu);
  }
  double flops = 0;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l)
    flops += (l == 0 ? 4.0 : 8.0) * static_cast<double>(rows) *
             static_cast<double>((widths[l] + 1) * widths[l + 1]);
  state.counters["cpu_s"] = best.cpu;
  state.counters["wall_s"] = best.wall;
  state.counters["GFLOPs"] = flops / best.cpu / 1e9;
  state.counters["gemm_GFLOPs"] = gemm / 1e9;
  state.counters["share"] = flops / best.cpu / gemm;
}
BENCHMARK(gauss_newton_product)
    ->Arg(2)
    ->Arg(3)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(1);

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
