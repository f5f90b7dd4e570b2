// J of solve.h on a network after equal CPU time: Levenberg-Marquardt (solve) against Adam
// over minibatches (solve_adam), both as debias uses them.
//
//   optimizer_bench --job=FILE
//
// with the job of bench/rivals/make_optimizer_job.py: an Adult network with three hidden
// layers of 100 and 5,000 flips, its last two layers or all of them. Levenberg-Marquardt
// runs first, with the steps and the stop that debias gives it at one lambda. Adam then
// gets as many epochs as fit into the same CPU seconds. `own` is Adam with the epochs that
// debias gives it. J is a share of J at the start: theta0, or for all layers also theta0
// with the flipped columns averaged, where debias begins. One thread.

#include <algorithm>
#include <string_view>

#include <benchmark/benchmark.h>

#include "fmd/core/blas.h"
#include "fmd/fit/adam.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/mlp_head.h"
#include "fmd/unlearn/simple.h"
#include "fmd/unlearn/solve_adam.h"
#include "job.h"
#include "stopwatch.h"

namespace fmd {
namespace {

constexpr Index kWidth = 100;

// The layers that are changed, and the pairs as these layers see them.
struct Top {
  MlpHead head{{1, 1, 1}, Activation::relu};
  Vector theta;
  std::unique_ptr<Features> C, Cbar;
  PairSet pairs;
};

// The features through one hidden layer.
std::unique_ptr<Features> above(const Features& X, const double* layer, Index width) {
  const LinearHead head(X.cols(), width);
  const Vector theta = Eigen::Map<const Vector>(layer, head.parameters());
  std::vector<float> values;
  for (Index b = 0; b < block_count(X.rows()); ++b) {
    Scratch scratch;
    Matrix z;
    head.logits(X.block(b, scratch), theta, z);
    for (Index i = 0; i < z.size(); ++i)
      values.push_back(static_cast<float>(std::max(0.0, z.data()[i])));
  }
  return make_dense(std::move(values), X.rows(), width);
}

Top make_top(const bench::Job& job, const Vector& whole, Index layers) {
  std::vector<Index> widths{job.X->cols(), kWidth, kWidth, kWidth, 1};
  Top top;
  const auto copy = [](const Features& X) {
    Scratch scratch;
    std::vector<float> values;
    for (Index b = 0; b < block_count(X.rows()); ++b) {
      const FeatureBlock block = X.block(b, scratch);
      values.insert(values.end(), block.dense, block.dense + block.rows * block.cols);
    }
    return make_dense(std::move(values), X.rows(), X.cols());
  };
  top.C = copy(*job.C);
  top.Cbar = copy(*job.Cbar);
  const double* layer = whole.data();
  while (std::ssize(widths) - 1 > layers) {
    const Index parameters = widths[1] * (widths[0] + 1);
    top.C = above(*top.C, layer, widths[1]);
    top.Cbar = above(*top.Cbar, layer, widths[1]);
    layer += parameters;
    widths.erase(widths.begin());
  }
  top.head = MlpHead(widths, Activation::relu);
  top.theta = whole.tail(top.head.parameters());
  top.pairs = job.pairs;
  top.pairs.c.X = top.C.get();
  top.pairs.cbar.X = top.Cbar.get();
  return top;
}

void compare(benchmark::State& state, const bench::Job& job, const Vector& whole,
             Index layers, double lambda, bool averaged) {
  const Top top = make_top(job, whole, layers);
  const Rows rows = top.pairs.c;
  const std::vector<PairSet> sets{top.pairs};
  const std::vector<Index> columns{0, 1};
  const Vector start =
      averaged ? average_features(top.head, top.theta, rows, columns, {}) : top.theta;
  const SolveOptions how{.lambda = lambda,
                         .mu = 1.0 / static_cast<double>(job.X->rows()),
                         .gaps = {},
                         .max_iterations = 12,
                         .min_fall = 1e-3};
  const double first =
      solve_objective(top.head, top.theta, rows, sets, how, start, {}).value;
  const auto adam = [&](int epochs) {
    return solve_adam(top.head, top.theta, rows, sets, how,
                      {.epochs = epochs, .batch = 256, .learning_rate = 1e-3}, nullptr, {},
                      start);
  };
  for (auto _ : state) {
    SolveResult lm, own, equal;
    const double lm_s = bench::time_of([&] {
                          lm = solve(top.head, top.theta, rows, sets, how, {}, start);
                        }).cpu;
    const int epochs = static_cast<int>(std::clamp<Index>(
        400 / ((top.pairs.size() + 255) / 256), 4, 200));  // as src/repair
    const double own_s = bench::time_of([&] { own = adam(epochs); }).cpu;
    const int as_long = std::max(1, static_cast<int>(lm_s / own_s * epochs));
    const double equal_s = bench::time_of([&] { equal = adam(as_long); }).cpu;
    state.SetIterationTime(lm_s);
    state.counters["lm_s"] = lm_s;
    state.counters["lm_J"] = lm.summary.objective / first;
    state.counters["equal_s"] = equal_s;
    state.counters["equal_J"] = equal.summary.objective / first;
    state.counters["own_s"] = own_s;
    state.counters["own_J"] = own.summary.objective / first;
  }
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  using namespace fmd;
  setup_blas();
  benchmark::Initialize(&argc, argv);
  std::string path;
  for (int i = 1; i < argc; ++i)
    if (const std::string_view argument = argv[i]; argument.starts_with("--job="))
      path = argument.substr(6);
  if (path.empty()) {
    std::fprintf(stderr, "optimizer_bench: --job=FILE is missing\n");
    return 2;
  }
  const bench::Job job = bench::read_job(path);
  const MlpHead head({job.X->cols(), kWidth, kWidth, kWidth, 1}, Activation::relu);
  const Vector whole = train_adam(head, job.train(), {.epochs = 20}, {}).theta;
  for (const Index layers : {2, 4})
    for (const double lambda : {1.0, 100.0, 1e4})
      for (const bool averaged : {false, true}) {
        if (averaged && layers < 4) continue;  // the columns are below
        const std::string name = std::string("layers:") + std::to_string(layers) +
                                 "/lambda:" + std::to_string(static_cast<int>(lambda)) +
                                 (averaged ? "/averaged" : "/theta0");
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=, &job, &whole](benchmark::State& s) {
                                       compare(s, job, whole, layers, lambda, averaged);
                                     })
            ->UseManualTime()
            ->Unit(benchmark::kSecond)
            ->Iterations(1);
      }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
