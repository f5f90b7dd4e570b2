// The paper's step, Eq. 9, on 5,000 pairs (100 dense features, 10 classes, 1,010
// parameters): Hessian, Cholesky factor, gradients of both sides and the new parameters.
// Beside it what cannot be saved: the Hessian alone and LAPACK's dpotrf alone. One thread,
// CPU seconds, best of several; the ratio comes last.

#include "fmd/unlearn/newton.h"

#include <cstdio>

#include "edit_problem.h"
#include "fmd/core/blas.h"

namespace fmd {
namespace {

// Shortest time of each, for the ratio.
struct Best {
  bench::Seconds hessian, dpotrf, step;
} best;

Matrix H_of_rows() {
  const bench::Problem& p = bench::problem();
  return hessian(p.head, p.rows, p.theta0, {.l2 = bench::kL2}, {});
}

void hessian_alone(benchmark::State& state) {
  best.hessian = bench::run(state, [&] { benchmark::DoNotOptimize(H_of_rows()); });
}

void dpotrf(benchmark::State& state) {
  const Matrix H = H_of_rows();
  Matrix A = H;
  const int n = static_cast<int>(H.rows());
  int info = 0;
  best.dpotrf = bench::run(state, [&] {
    A = H;
    dpotrf_("L", &n, A.data(), &n, &info);
  });
}

void step(benchmark::State& state) {
  const bench::Problem& p = bench::problem();
  UnlearnResult result;
  best.step = bench::run(state, [&] {
    const auto inverse = make_cholesky(H_of_rows());
    result = unlearn_pairs(p.head, p.theta0, p.pairs, *inverse,
                           {.step_scale = 1.0 / static_cast<double>(bench::kRows)}, {});
  });
  state.counters["status"] = static_cast<double>(result.summary.status);
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  fmd::bench::add_benchmark("hessian", fmd::hessian_alone);
  fmd::bench::add_benchmark("dpotrf", fmd::dpotrf);
  fmd::bench::add_benchmark("step", fmd::step);
  benchmark::RunSpecifiedBenchmarks();
  const fmd::Best& best = fmd::best;
  const double least = best.hessian.cpu + best.dpotrf.cpu;
  std::fprintf(stderr,
               "best of 5: Hessian %.3f s, dpotrf %.4f s, step %.3f s (%.2f x their sum)\n",
               best.hessian.cpu, best.dpotrf.cpu, best.step.cpu, best.step.cpu / least);
}
