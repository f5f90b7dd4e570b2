// The top layers of a network, one thread unless a benchmark says otherwise.
//
//   layers_bench --job=FILE [--scores=FILE] [--theta=FILE] [--lambda=L] [--goal=J]
//
// with the job of bench/rivals/make_layers_job.py measures influence on a bias and `solve`,
// which other programs do too. Without it: how near products with the curvature come to the
// rate of dgemm, measured in turns in the same run, and how their time grows; and with
// FMD_DATA the paper's Eq. 9 on Colored MNIST from images in memory to the new head.
// `share` is the part of that rate which was reached, counting what has to be done: two
// matrix products for J v and two for J^T h in each layer, less the one that the lowest
// needs not in either.

#include <algorithm>
#include <cstdlib>

#include <benchmark/benchmark.h>

#include "core/lapack.h"
#include "fmd/core/blas.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/fit/adam.h"
#include "fmd/influence/influence.h"
#include "fmd/model/mlp_head.h"
#include "fmd/repro/recolour.h"
#include "fmd/unlearn/solve.h"
#include "job.h"
#include "repro/edits.h"
#include "stopwatch.h"

namespace fmd {
namespace {

using repro::OwnedPairs, repro::OwnedRows, repro::Score, repro::Side;

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

double work(Index rows, const std::vector<Index>& widths) {
  double flops = 0;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l)
    flops += (l == 0 ? 4.0 : 8.0) * static_cast<double>(rows) *
             static_cast<double>((widths[l] + 1) * widths[l + 1]);
  return flops;
}

// Made-up rows; all hidden layers as wide as the features.
void gauss_newton_product(benchmark::State& state) {
  const Index rows = state.range(0), width = state.range(1), classes = state.range(2);
  std::vector<Index> widths(static_cast<std::size_t>(state.range(3)), width);
  widths.push_back(classes);
  const auto head = make_head(widths, Activation::relu);
  Rng rng(1, "bench");
  std::vector<float> values(static_cast<std::size_t>(rows * width));
  for (float& value : values) value = static_cast<float>(std::max(0.0, rng.normal()));
  std::vector<std::int32_t> y;
  for (Index i = 0; i < rows; ++i)
    y.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes))));
  const auto X = make_dense(std::move(values), rows, width);
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
  const double flops = work(rows, widths);
  state.counters["cpu_s"] = best.cpu;
  state.counters["wall_s"] = best.wall;
  state.counters["GFLOPs"] = flops / best.cpu / 1e9;
  state.counters["gemm_GFLOPs"] = gemm / 1e9;
  state.counters["share"] = flops / best.cpu / gemm;
}
BENCHMARK(gauss_newton_product)
    ->ArgNames({"rows", "width", "classes", "layers"})
    ->Args({10000, 100, 10, 3})
    ->Args({10000, 100, 10, 2})
    ->Args({10000, 100, 10, 1})
    ->Args({20000, 100, 10, 3})
    ->Args({40000, 100, 10, 3})
    ->Args({10000, 50, 10, 3})
    ->Args({10000, 200, 10, 3})
    ->Args({10000, 100, 2, 3})
    ->Args({10000, 100, 40, 3})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(1);

// Of the network that the job's scripts train.
std::shared_ptr<const Head> top_layers(const bench::Job& job) {
  auto head = make_head({job.X->cols(), 100, 100, 10}, Activation::relu);
  if (head->parameters() != job.theta.size())
    throw Error(ErrorKind::bad_shape, "the job is not of this network", "make it anew");
  return head;
}

void influence_of_rows(benchmark::State& state, const bench::Job& job,
                       const std::string& scores) {
  const auto head = top_layers(job);
  const auto co = make_measure("co");
  InfluenceOptions options;
  options.curvature.l2 = job.l2;
  options.curvature.tolerance = 3e-2;  // what explain takes for networks
  InfluenceResult result;
  bench::run(state, [&] {
    result = influence(*head, job.train(), job.theta, {{co.get(), {&job.pairs, {}, {}}}},
                       options, {});
  });
  state.counters["steps"] = static_cast<double>(result.solve.iterations);
  state.counters["residual"] = result.solve.residual;
  state.counters["gradient"] = result.relative_gradient;
  if (!scores.empty()) bench::write_vector(scores, "change", result.change.col(0));
}

// 15 steps, or as many as reach the goal, which are counted beforehand.
void solve_pairs(benchmark::State& state, const bench::Job& job, double lambda, double goal,
                 const std::string& theta) {
  const auto head = top_layers(job);
  ThreadPool pool(static_cast<int>(state.range(0)));
  SolveOptions options;
  options.lambda = lambda;
  options.max_iterations = 15;
  SolveResult result;
  const auto run = [&](ThreadPool& threads) {
    result =
        solve(*head, job.theta, job.pairs.c, {&job.pairs, 1}, options, {.pool = &threads});
  };
  if (goal > 0) {
    ThreadPool both(2);
    for (options.max_iterations = 5; options.max_iterations < 15;
         ++options.max_iterations) {
      run(both);
      if (result.summary.objective <= goal) break;
    }
  }
  bench::run(state, [&] { run(pool); });
  state.counters["objective"] = result.summary.objective;
  state.counters["steps"] = result.summary.iterations;
  if (!theta.empty()) bench::write_vector(theta, "theta", result.theta);
}

// Digits of the test part: the first ones to edit with, the rest to choose by.
struct Painted {
  Digits digits;
  Colours colour, other;
};

Painted paint(const Digits& test, Index from, Index to) {
  std::vector<Index> rows;
  for (Index i = from; i < to; ++i) rows.push_back(i);
  Painted painted{select(test, rows), {}, {}};
  painted.colour = uniform_colours(to - from, ten_colours(), 1, "bench");
  painted.other = other_colours(painted.colour.code, ten_colours(), 1, "bench others");
  return painted;
}

Side through_layers(const MlpHead& network, const Vector& theta, const Painted& painted) {
  const Recolouring layers(network, theta, painted.digits, {});
  Side side;
  const std::shared_ptr<const Features> c = layers.features(painted.colour, 1, {});
  side.rows = OwnedRows(c, painted.digits.label);
  side.pairs = OwnedPairs(c, layers.features(painted.other, 1, {}), painted.digits.label);
  return side;
}

// From images and network in memory: the hidden layers' outputs of 5,000 digits and their
// counterparts, H over both sides of 4,000 of them, the step, its scale chosen by the rest.
void equation_9(benchmark::State& state) {
  const char* folder = std::getenv("FMD_DATA");
  const Digits train = load_digits(folder == nullptr ? "" : folder, "train");
  const Digits test = load_digits(folder == nullptr ? "" : folder, "test");
  const Painting painting = ten_colours();
  const Colours colours = biased_colours(train.label, painting, 0.99, 1, "bench train");
  const auto images = make_coloured(train, colours);
  const MlpHead network({3 * train.pixels, 100, 100, 100, 10}, Activation::relu);
  const Vector theta = train_adam(network, {images.get(), train.label, {}, {}},
                                  {.l2 = 0, .epochs = 1, .validation = 0}, {})
                           .theta;
  const Painted edit = paint(test, 0, 4000), holdout = paint(test, 4000, 5000);
  Score before, after;
  bench::run(state, [&] {
    repro::Stage stage;
    const TopLayers top = top_layers(network, theta, 1);
    stage.head = top.head;
    stage.problem.theta = top.theta;
    stage.edit = through_layers(network, theta, edit);
    stage.holdout = through_layers(network, theta, holdout);
    repro::connect(stage);
    const repro::TimedDirection direction = repro::pairs_direction(stage, true, {});
    const repro::Outcome outcome = repro::take_step(stage, direction, false, {}, {});
    before = repro::score(*stage.head, stage.problem.theta, stage.holdout, {});
    after = repro::score(*stage.head, outcome.theta, stage.holdout, {});
  });
  state.counters["accuracy_before"] = before.accuracy;
  state.counters["accuracy"] = after.accuracy;
  state.counters["bias_before"] = before.bias;
  state.counters["bias"] = after.bias;
}
BENCHMARK(equation_9)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(5);

void add_job(const std::string& file, int argc, char** argv) {
  const auto job = std::make_shared<bench::Job>(bench::read_job(file));
  const std::string scores = bench::argument(argc, argv, "scores");
  const std::string theta = bench::argument(argc, argv, "theta");
  const std::string lambda = bench::argument(argc, argv, "lambda");
  const std::string goal = bench::argument(argc, argv, "goal");
  benchmark::RegisterBenchmark(
      "influence",
      [job, scores](benchmark::State& state) { influence_of_rows(state, *job, scores); })
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime()
      ->Iterations(1);
  benchmark::RegisterBenchmark("solve",
                               [job, lambda, goal, theta](benchmark::State& state) {
                                 solve_pairs(state, *job,
                                             lambda.empty() ? 10 : std::stod(lambda),
                                             goal.empty() ? 0 : std::stod(goal), theta);
                               })
      ->ArgName("threads")
      ->Arg(1)
      ->Arg(2)
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime()
      ->Iterations(2);
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  const std::string job = fmd::bench::argument(argc, argv, "job");
  if (!job.empty()) fmd::add_job(job, argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
