// Where matrices of parameters x parameters stop paying: training, and the trade-off path
// of 30 points, of a linear head on one-hot columns, with the matrices (dense) and without
// them (products). 20,000 rows of ten columns, flips of the first, one output or ten. One
// thread, CPU seconds. `difference` is that of the two thetas, relative: of the optimum,
// or the largest on the path.

#include <benchmark/benchmark.h>

#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/data/encoder.h"
#include "fmd/fit/train.h"
#include "fmd/model/linear_head.h"
#include "fmd/unlearn/path.h"
#include "stopwatch.h"

namespace fmd {
namespace {

constexpr Index kRows = 20'000, kColumns = 10, kPoints = 30;
constexpr double kL2 = 1.0 / kRows;
constexpr Index kNever = Index{1} << 40;

struct OneHot {
  std::unique_ptr<Features> X, Xbar;
  std::vector<std::int32_t> y;
  LinearHead head{0, 1};
  Rows rows;
  std::vector<PairSet> pairs;
};

// The first column has two values, the others share the rest; labels follow them.
OneHot make_rows(Index features, Index outputs) {
  OneHot made;
  Rng rng(5, "large heads");
  const Index levels = (features - 2) / (kColumns - 1);
  CsrRows x, bar;
  x.cols = bar.cols = 2 + levels * (kColumns - 1);
  for (Index i = 0; i < kRows; ++i) {
    const auto own = static_cast<std::int32_t>(rng.below(2));
    std::vector<std::int32_t> columns;
    Index sum = own;
    for (Index c = 0; c + 1 < kColumns; ++c) {
      const double u = rng.uniform();
      const auto level = static_cast<Index>(u * u * static_cast<double>(levels));
      sum += level % 5;
      columns.push_back(static_cast<std::int32_t>(2 + c * levels + level));
    }
    const auto put = [&](CsrRows& to, std::int32_t first) {
      to.column.push_back(first);
      to.column.insert(to.column.end(), columns.begin(), columns.end());
      to.start.push_back(static_cast<Index>(to.column.size()));
    };
    put(x, own);
    put(bar, 1 - own);
    const Index classes = outputs == 1 ? 2 : outputs;
    const Index noise = rng.below(3) == 0 ? static_cast<Index>(rng.below(7)) : 0;
    made.y.push_back(static_cast<std::int32_t>((sum / 4 + noise) % classes));
  }
  made.X = make_sparse(std::move(x));
  made.Xbar = make_sparse(std::move(bar));
  made.head = LinearHead(made.X->cols(), outputs);
  made.rows = {made.X.get(), made.y, {}, {}};
  PairSet set;
  set.c = made.rows;
  set.cbar = {made.Xbar.get(), made.y, {}, {}};
  for (Index i = 0; i < kRows; ++i) {
    set.unit.push_back(i);
    set.weight.push_back(1);
  }
  made.pairs.push_back(std::move(set));
  return made;
}

template <typename Work>
double cpu_of(const Work& work) {
  return bench::time_of(work).cpu;
}

double difference(const Vector& a, const Vector& b) { return (a - b).norm() / a.norm(); }

void training(benchmark::State& state) {
  const OneHot made = make_rows(state.range(0), state.range(1));
  for (auto _ : state) {
    Vector theta[2];
    double seconds[2];
    for (const int k : {0, 1})
      seconds[k] = cpu_of([&] {
        theta[k] = train_linear(made.head, made.rows,
                                {.l2 = kL2, .max_dense = k == 0 ? kNever : 0}, {})
                       .theta;
      });
    state.SetIterationTime(seconds[1]);
    state.counters["parameters"] = static_cast<double>(made.head.parameters());
    state.counters["dense_s"] = seconds[0];
    state.counters["products_s"] = seconds[1];
    state.counters["difference"] = difference(theta[0], theta[1]);
  }
}

void path(benchmark::State& state) {
  const OneHot made = make_rows(state.range(0), state.range(1));
  const Vector theta0 = train_linear(made.head, made.rows, {.l2 = kL2}, {}).theta;
  for (auto _ : state) {
    Path found[2];
    double seconds[2];
    for (const int k : {0, 1})
      seconds[k] = cpu_of([&] {
        found[k] = make_path(made.head, made.rows, made.pairs, theta0,
                             {.l2 = kL2, .max_dense = k == 0 ? kNever : 0}, {});
        for (const double lambda : path_lambdas(found[k], kPoints))
          benchmark::DoNotOptimize(found[k].theta(lambda));
      });
    double worst = 0;
    for (const double lambda : path_lambdas(found[0], kPoints))
      worst = std::max(worst, difference(found[0].theta(lambda), found[1].theta(lambda)));
    state.SetIterationTime(seconds[1]);
    state.counters["parameters"] = static_cast<double>(made.head.parameters());
    state.counters["dense_s"] = seconds[0];
    state.counters["products_s"] = seconds[1];
    state.counters["difference"] = worst;
  }
}

void add(const char* name, void (*run)(benchmark::State&)) {
  auto* made = benchmark::RegisterBenchmark(name, run);
  made->ArgNames({"features", "outputs"})->UseManualTime()->Iterations(1);
  for (const Index features : {500, 1000, 2000, 3000}) made->Args({features, 1});
  for (const Index features : {50, 100, 200, 300}) made->Args({features, 10});
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  fmd::add("train", fmd::training);
  fmd::add("path", fmd::path);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
