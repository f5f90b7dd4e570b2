// The trade-off path (Hessian of 5,000 rows, consistency matrix of 5,000 pairs,
// eigenvectors, 50 points), for 100 dense features and 10 classes, against LAPACK's dsygvd
// alone at that size (1,010). One thread, CPU seconds, best of several; the ratio comes
// last.

#include "fmd/unlearn/path.h"

#include <cstdio>

#include "edit_problem.h"
#include "fmd/core/blas.h"

namespace fmd {
namespace {

// Shortest time of each, for the ratio.
struct Best {
  bench::Seconds dsygvd, path;
} best;

void dsygvd(benchmark::State& state) { best.dsygvd = bench::dsygvd(state); }

void path(benchmark::State& state) {
  std::vector<Vector> thetas;
  best.path =
      bench::run(state, [&] { benchmark::DoNotOptimize(bench::whole_path(thetas)); });
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  fmd::bench::add_benchmark("dsygvd", fmd::dsygvd);
  fmd::bench::add_benchmark("path", fmd::path);
  benchmark::RunSpecifiedBenchmarks();
  const fmd::Best& best = fmd::best;
  std::fprintf(stderr, "best of 5: dsygvd %.3f s, path %.3f s (%.2f x)\n", best.dsygvd.cpu,
               best.path.cpu, best.path.cpu / best.dsygvd.cpu);
}
