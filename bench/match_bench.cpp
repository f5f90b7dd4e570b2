// Exact nearest neighbours of 20,000 rows among 20,000 with 64 features, against the plain
// float32 matrix product of that size (written panel by panel into memory that is reused).
// One thread, CPU seconds, best of several; the ratios come last.

#include <cstdio>

#include <benchmark/benchmark.h>

#include "core/lapack.h"
#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/model/nearest.h"
#include "stopwatch.h"

namespace fmd {
namespace {

constexpr Index kRows = 20000, kFeatures = 64, kPanel = 1000;

std::vector<float> random_rows(const char* name) {
  Rng rng(1, name);
  std::vector<float> values;
  for (Index i = 0; i < kRows * kFeatures; ++i)
    values.push_back(static_cast<float>(rng.normal()));
  return values;
}

struct Problem {
  std::vector<float> x = random_rows("queries"), y = random_rows("candidates");
  std::unique_ptr<Features> X = make_dense(x, kRows, kFeatures);
  std::unique_ptr<Features> Y = make_dense(y, kRows, kFeatures);
};

const Problem& problem() {
  static const Problem p;
  return p;
}

bench::Seconds product_time, nearest_time, several_time;

void product(benchmark::State& state) {
  const Problem& p = problem();
  std::vector<float> panel(static_cast<std::size_t>(kRows * kPanel));
  const int m = kRows, n = kPanel, k = kFeatures;
  const float one = 1, zero = 0;
  product_time.keep_shorter(bench::run(state, [&] {
    for (Index first = 0; first < kRows; first += kPanel)
      sgemm_("T", "N", &m, &n, &k, &one, p.y.data(), &k, p.x.data() + first * kFeatures, &k,
             &zero, panel.data(), &m);
  }));
  const double operations = 2.0 * kRows * kRows * kFeatures;
  state.counters["GFLOPs"] = 1e-9 * operations / product_time.cpu;
}

void find(benchmark::State& state, Index count, bench::Seconds& best) {
  const Problem& p = problem();
  const Rows queries{p.X.get(), {}, {}, {}}, candidates{p.Y.get(), {}, {}, {}};
  best.keep_shorter(bench::run(state, [&] {
    benchmark::DoNotOptimize(nearest(queries, candidates, {.k = count}, {}));
  }));
}

void nearest_one(benchmark::State& state) { find(state, 1, nearest_time); }
void nearest_several(benchmark::State& state) { find(state, 16, several_time); }

BENCHMARK(product)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(nearest_one)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(nearest_several)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  std::fprintf(stderr, "nearest / product %.2f, 16 nearest / product %.2f\n",
               fmd::nearest_time.cpu / fmd::product_time.cpu,
               fmd::several_time.cpu / fmd::product_time.cpu);
  return 0;
}
