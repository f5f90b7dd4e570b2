// Explaining from a file of features that is larger than what one wants in memory:
//
//   large_bench --file=FILE [--rows=10000000]
//
// makes FILE (100 features a row; kept when it has that many rows already) and computes the
// influence of every row from the mapping. `share` is the part of the lower roof of the
// direct way: of two passes over the file by the measured rate of summing the same mapping,
// and of the multiplications for H by dgemm. `anonymous_MB` is the peak of the memory that
// is not the file's.

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <thread>

#include <benchmark/benchmark.h>

#include "fmd/core/blas.h"
#include "fmd/core/machine.h"
#include "fmd/core/output_files.h"
#include "fmd/core/rng.h"
#include "fmd/formats/features_file.h"
#include "fmd/influence/influence.h"
#include "fmd/model/linear_head.h"
#include "stopwatch.h"

namespace fmd {
namespace {

constexpr Index kCols = 100, kPairs = 5000;

std::vector<float> normal(Index count, Rng& rng) {
  std::vector<float> values;
  for (Index i = 0; i < count; ++i) values.push_back(static_cast<float>(rng.normal()));
  return values;
}

// Labels follow the first feature, so that there is something to explain.
void make(const std::filesystem::path& path, Index rows) {
  FeaturesNote note;
  note.rows = rows;
  note.cols = kCols;
  note.encoder = note.source = "made up";
  note.label = "y";
  note.classes = {"no", "yes"};
  OutputFiles files({.force = true});
  FeaturesWriter writer(files, path, note);
  Rng rng(1, "large bench");
  const std::vector<float> all = normal(2 * kBlockRows * kCols, rng);
  for (Index first = 0; first < rows; first += kBlockRows) {
    const Index count = std::min(kBlockRows, rows - first);
    // Another part of the same numbers each time: drawing a billion takes a minute.
    const auto from = all.begin() + rng.below(kBlockRows) * kCols;
    std::vector<float> x(from, from + count * kCols);
    std::vector<std::int32_t> y;
    for (Index i = 0; i < count; ++i)
      y.push_back(x[static_cast<std::size_t>(i * kCols)] + rng.normal() > 0 ? 1 : 0);
    writer.add(*make_dense(std::move(x), count, kCols), y, {}, {});
  }
  writer.finish(-1, 0, 0);
  files.commit();
}

double anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return 1024 * kilobytes;
  }
  return 0;
}

// Looks at the memory every few milliseconds while the work runs.
double peak_of(const std::function<void()>& work) {
  std::atomic<bool> done = false;
  double peak = 0;
  std::thread watcher([&] {
    while (!done) {
      peak = std::max(peak, anonymous_bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  work();
  done = true;
  watcher.join();
  return peak;
}

double sum_of(const Features& X) {
  Scratch scratch;
  double sum = 0;
  for (Index b = 0; b < block_count(X.rows()); ++b) {
    const FeatureBlock block = X.block(b, scratch);
    float sums[16] = {};
    for (Index i = 0; i + 16 <= block.rows * block.cols; i += 16)
      for (Index k = 0; k < 16; ++k) sums[k] += block.dense[i + k];
    for (const float s : sums) sum += s;
  }
  return sum;
}

void explain(benchmark::State& state, const FeaturesFile& file) {
  const Index rows = file.note().rows;
  const auto X = file.features(0, rows);
  const std::vector<std::int32_t> y = file.labels(0, rows);
  Rng rng(2, "large bench");
  const auto C = make_dense(normal(kPairs * kCols, rng), kPairs, kCols);
  const auto Cbar = make_dense(normal(kPairs * kCols, rng), kPairs, kCols);
  const std::vector<std::int32_t> pair_y(kPairs, 1);
  PairSet pairs;
  pairs.c = {C.get(), pair_y, {}, {}};
  pairs.cbar = {Cbar.get(), pair_y, {}, {}};
  for (Index i = 0; i < kPairs; ++i) pairs.unit.push_back(i), pairs.weight.push_back(1);
  const LinearHead head(kCols, 1);
  Vector theta(head.parameters());
  for (double& t : theta) t = 0.05 * rng.normal();
  theta[0] = 1.6;
  const auto co = make_measure("co");
  InfluenceOptions options;
  options.curvature.l2 = 1e-6;
  options.curvature.tolerance = 1e-3;  // as the command has it
  InfluenceResult result;
  double read = 0, peak = 0;
  bench::Seconds best;
  for (auto _ : state) {
    double sum = 0;
    const bench::Seconds once = bench::time_of([&] { sum = sum_of(*X); });
    benchmark::DoNotOptimize(sum);
    read = std::max(read, 4 * static_cast<double>(rows * kCols) / once.cpu);
    const double most = peak_of([&] {
      best.keep_shorter(bench::time_of([&] {
        result = influence(head, {X.get(), y, {}, {}}, theta,
                           {{co.get(), {&pairs, {}, {}}}}, options, {});
      }));
    });
    peak = std::max(peak, most);
    state.SetIterationTime(best.cpu);
  }
  const double n = static_cast<double>(rows), d = kCols + 1;
  const double gemm = 1e9 * measure_machine(0.5).gemm_f64;
  const bool cg = result.solve.solver == "cg";
  // The roof is that of the direct way, whatever the solver does: H by one matrix product,
  // and a pass for the changes.
  const double bytes = 4 * n * kCols;
  const double flops = n * d * d + 8 * n * d;
  const double roof = std::max(2 * bytes / read, flops / gemm);
  // cg: a pass for the diagonal that chooses its sample, one a step, one for the residual;
  // cholesky: one for H. Then one for the changes.
  const double passes = 1 + (cg ? 2 + static_cast<double>(result.solve.iterations) : 1);
  state.counters["cpu_s"] = best.cpu;
  state.counters["wall_s"] = best.wall;
  state.counters["rows"] = n;
  state.counters["passes"] = passes;
  state.counters["cg"] = cg ? 1 : 0;
  state.counters["read_GBs"] = read / 1e9;
  state.counters["gemm_GFLOPs"] = gemm / 1e9;
  state.counters["memory_bound"] = 2 * bytes / read > flops / gemm ? 1 : 0;
  state.counters["roof_s"] = roof;
  state.counters["residual"] = result.solve.residual;
  state.counters["own_GBs"] = passes * bytes / best.cpu / 1e9;
  state.counters["share"] = roof / best.cpu;
  state.counters["anonymous_MB"] = peak / 1e6;
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  using namespace fmd;
  setup_blas();
  std::string path;
  Index rows = 10'000'000;
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--file=")) path = argument.substr(7);
    if (argument.starts_with("--rows=")) rows = std::stoll(argv[i] + 7);
  }
  if (path.empty()) {
    std::fprintf(stderr, "large_bench: --file=FILE is missing\n");
    return 2;
  }
  if (!std::filesystem::exists(path) || FeaturesFile::open(path).note().rows != rows)
    make(path, rows);
  const FeaturesFile file = FeaturesFile::open(path);
  benchmark::RegisterBenchmark("explain/mapped",
                               [&](benchmark::State& state) { explain(state, file); })
      ->UseManualTime()
      ->Iterations(3);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
