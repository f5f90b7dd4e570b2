// The trade-off path (Hessian of 5,000 rows, consistency matrix of 5,000 pairs,
// eigenvectors, 50 points) and a warm-started solve, for 100 dense features and 10 classes,
// against LAPACK's dsygvd alone at that size (1,010). One thread, CPU seconds, best of
// several; the ratios come last.

#include "fmd/unlearn/path.h"

#include <algorithm>
#include <cstdio>

#include <benchmark/benchmark.h>

#include "core/lapack.h"
#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/hessian.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/data/encoder.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/solve.h"
#include "stopwatch.h"

namespace fmd {
namespace {

constexpr Index kRows = 5000, kInputs = 100, kClasses = 10, kPoints = 50;
constexpr double kL2 = 1e-4;

struct Problem {
  LinearHead head{kInputs, kClasses};
  std::unique_ptr<Features> X, Xbar;
  std::vector<std::int32_t> y;
  Rows rows;
  std::vector<PairSet> pairs;
  Vector theta0;
};

// Labels follow a random linear model; partners move along some of the features.
Problem make_problem() {
  Problem p;
  Rng rng(1, "path bench");
  Vector truth(p.head.parameters());
  for (Index j = 0; j < truth.size(); ++j) truth[j] = 0.2 * rng.normal();
  std::vector<float> x, xbar;
  for (Index i = 0; i < kRows; ++i) {
    const double shift = rng.normal();
    for (Index j = 0; j < kInputs; ++j) {
      const double value = rng.normal();
      const double moved = j < 40 ? 0.5 * shift + 0.3 * rng.normal() : 0.02 * rng.normal();
      x.push_back(static_cast<float>(value));
      xbar.push_back(static_cast<float>(value + moved));
    }
  }
  p.X = make_dense(std::move(x), kRows, kInputs);
  p.Xbar = make_dense(std::move(xbar), kRows, kInputs);
  p.rows = {.X = p.X.get(), .y = {}, .weight = {}, .subset = {}};
  const Matrix score = all_probabilities(p.head, p.rows, truth, {});
  for (Index i = 0; i < kRows; ++i) {
    double left = rng.uniform();
    std::int32_t label = 0;
    while (label + 1 < kClasses && (left -= score(i, label)) > 0) ++label;
    p.y.push_back(label);
  }
  p.rows.y = p.y;
  p.pairs.resize(1);
  p.pairs[0].c = p.rows;
  p.pairs[0].cbar = {.X = p.Xbar.get(), .y = p.y, .weight = {}, .subset = {}};
  p.pairs[0].weight.assign(static_cast<std::size_t>(kRows), 1.0F);
  for (Index i = 0; i < kRows; ++i) p.pairs[0].unit.push_back(i);
  // A few Newton steps are enough for a model that could have been trained.
  p.theta0 = Vector::Zero(p.head.parameters());
  for (int step = 0; step < 4; ++step) {
    const auto F = objective(p.head, p.rows, p.theta0, kL2, 0, {});
    const Matrix H = hessian(p.head, p.rows, p.theta0, {.l2 = kL2}, {});
    p.theta0 -= make_cholesky(H)->apply(F.gradient).x.col(0);
  }
  return p;
}

const Problem& problem() {
  static const Problem shared = make_problem();
  return shared;
}

// Shortest time of each, for the ratios.
struct Best {
  bench::Seconds dsygvd, path, solve;
} best;

Path whole_path(std::vector<Vector>& thetas) {
  const Problem& p = problem();
  const Matrix H = hessian(p.head, p.rows, p.theta0, {.l2 = kL2}, {});
  const Matrix G = consistency_matrix(p.head, p.pairs, p.theta0, {});
  Path path = make_path(H, G, p.theta0);
  thetas.clear();
  for (const double lambda : path_lambdas(path, kPoints))
    thetas.push_back(path.theta(lambda));
  return path;
}

void dsygvd(benchmark::State& state) {
  const Problem& p = problem();
  const Matrix H = hessian(p.head, p.rows, p.theta0, {.l2 = kL2}, {});
  const Matrix G = consistency_matrix(p.head, p.pairs, p.theta0, {});
  const int n = static_cast<int>(H.rows()), kind = 1, ask = -1;
  Matrix A = G, B = H;
  Vector values(n);
  double work_size = 0;
  int integer_size = 0, info = 0;
  dsygvd_(&kind, "V", "L", &n, A.data(), &n, B.data(), &n, values.data(), &work_size, &ask,
          &integer_size, &ask, &info);
  const int lwork = static_cast<int>(work_size);
  Vector work(lwork);
  std::vector<int> integers(static_cast<std::size_t>(integer_size));
  best.dsygvd = bench::run(state, [&] {
    A = G;
    B = H;
    dsygvd_(&kind, "V", "L", &n, A.data(), &n, B.data(), &n, values.data(), work.data(),
            &lwork, integers.data(), &integer_size, &info);
  });
}

void path(benchmark::State& state) {
  std::vector<Vector> thetas;
  best.path = bench::run(state, [&] { benchmark::DoNotOptimize(whole_path(thetas)); });
}

// At the point of the path where the gaps have fallen by about 100.
void warm_solve(benchmark::State& state) {
  const Problem& p = problem();
  std::vector<Vector> thetas;
  const Path whole = whole_path(thetas);
  const double lambda = 50 / whole.g[whole.g.size() - 1];
  SolveResult result;
  best.solve = bench::run(state, [&] {
    result = solve(p.head, p.theta0, p.rows, p.pairs,
                   {.anchor = 1, .lambda = lambda, .gaps = {}}, {}, whole.theta(lambda));
  });
  state.counters["steps"] = result.summary.iterations;
  state.counters["matrices"] = result.summary.factorisations;
  state.counters["status"] = static_cast<double>(result.summary.status);
  state.counters["gradient"] = result.summary.gradient;
}

// Flips of one attribute in a table: 32,000 pairs, 12 of 95 features in a row, one output.
void sparse_solve(benchmark::State& state) {
  constexpr Index kPairs = 32000;
  Rng rng(2, "sparse bench");
  CsrRows x, xbar;
  x.cols = xbar.cols = 95;
  for (Index i = 0; i < kPairs; ++i) {
    const auto value = static_cast<std::int32_t>(rng.below(2));
    for (CsrRows* side : {&x, &xbar}) {
      side->column.push_back(side == &x ? value : 1 - value);
      side->value.push_back(1);
    }
    for (std::int32_t group = 0; group < 11; ++group) {
      const auto column = static_cast<std::int32_t>(2 + 8 * group + rng.below(8));
      const auto number = static_cast<float>(group < 8 ? 1.0 : rng.normal());
      for (CsrRows* side : {&x, &xbar}) {
        side->column.push_back(column);
        side->value.push_back(number);
      }
    }
    for (CsrRows* side : {&x, &xbar})
      side->start.push_back(static_cast<Index>(side->column.size()));
  }
  const auto X = make_sparse(std::move(x)), Xbar = make_sparse(std::move(xbar));
  const LinearHead head(95, 1);
  Vector theta0(head.parameters());
  for (Index j = 0; j < theta0.size(); ++j) theta0[j] = 0.5 * rng.normal();
  const Rows rows{.X = X.get(), .y = {}, .weight = {}, .subset = {}};
  std::vector<PairSet> pairs(1);
  pairs[0].c = rows;
  pairs[0].cbar = {.X = Xbar.get(), .y = {}, .weight = {}, .subset = {}};
  pairs[0].weight.assign(kPairs, 1.0F);
  SolveResult result;
  const bench::Seconds shortest = bench::run(state, [&] {
    result =
        solve(head, theta0, rows, pairs, {.anchor = 1, .lambda = 1000, .gaps = {}}, {});
  });
  state.counters["steps"] = result.summary.iterations;
  state.counters["matrices"] = result.summary.factorisations;
  state.counters["status"] = static_cast<double>(result.summary.status);
  state.counters["ms_a_step"] = 1e3 * shortest.cpu / std::max(1, result.summary.iterations);
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  const auto add = [](const char* name, void (*function)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, function)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(5);
  };
  add("dsygvd", fmd::dsygvd);
  add("path", fmd::path);
  add("solve", fmd::warm_solve);
  add("sparse_solve", fmd::sparse_solve);
  benchmark::RunSpecifiedBenchmarks();
  const fmd::Best& best = fmd::best;
  std::fprintf(stderr,
               "best of 5: dsygvd %.3f s, path %.3f s (%.2f x), warm-started solve %.3f s "
               "(%.2f x)\n",
               best.dsygvd.cpu, best.path.cpu, best.path.cpu / best.dsygvd.cpu,
               best.solve.cpu, best.solve.cpu / best.dsygvd.cpu);
}
