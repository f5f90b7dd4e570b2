#pragma once

// The problem of path_bench, solve_bench and newton_bench: 5,000 pairs with 100 dense
// features and 10 classes, 1,010 parameters; and LAPACK's dsygvd at that size, which the
// other times are compared with.

#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/lapack.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/hessian.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/path.h"
#include "stopwatch.h"

namespace fmd::bench {

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
inline Problem make_problem() {
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

inline const Problem& problem() {
  static const Problem shared = make_problem();
  return shared;
}

inline Path whole_path(std::vector<Vector>& thetas) {
  const Problem& p = problem();
  const Matrix H = hessian(p.head, p.rows, p.theta0, {.l2 = kL2}, {});
  const Matrix G = consistency_matrix(p.head, p.pairs, p.theta0, {});
  Path path = make_path(H, G, p.theta0);
  thetas.clear();
  for (const double lambda : path_lambdas(path, kPoints))
    thetas.push_back(path.theta(lambda));
  return path;
}

inline Seconds dsygvd(benchmark::State& state) {
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
  return run(state, [&] {
    A = G;
    B = H;
    dsygvd_(&kind, "V", "L", &n, A.data(), &n, B.data(), &n, values.data(), work.data(),
            &lwork, integers.data(), &integer_size, &info);
  });
}

inline void add_benchmark(const char* name, void (*function)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, function)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(5);
}

}  // namespace fmd::bench
