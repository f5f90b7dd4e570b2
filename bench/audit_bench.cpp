// The audit of 10 million scored rows in memory: label, score, sex (2 values), race (9),
// both together, every measure, 1,000 replicates. And the bootstrap of a table of 8 counts.
// `--write=FOLDER` leaves the columns as raw numbers, for other programs to be timed on the
// same rows.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <benchmark/benchmark.h>

#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/pipeline/audit_state.h"
#include "stopwatch.h"

namespace fmd {
namespace {

constexpr Index kRows = 10'000'000;

struct Rows10M {
  Scored scored;
  Attribute sex, race;
};

Attribute attribute(const std::string& name, const std::vector<double>& shares) {
  Attribute a;
  a.name = name;
  a.columns = {name};
  for (std::size_t v = 0; v < shares.size(); ++v) a.values.push_back(std::to_string(v));
  a.groups = a.values;
  a.group.resize(kRows);
  return a;
}

std::int32_t draw(Rng& rng, const std::vector<double>& shares) {
  double u = rng.uniform();
  std::int32_t v = 0;
  while (v + 1 < static_cast<std::int32_t>(shares.size()) &&
         u >= shares[static_cast<std::size_t>(v)])
    u -= shares[static_cast<std::size_t>(v++)];
  return v;
}

const Rows10M& rows() {
  static const Rows10M made = [] {
    const std::vector<double> sex{.52, .48},
        race{.62, .09, .17, .002, .004, .01, .03, .004, .07};
    Rows10M r{{}, attribute("sex", sex), attribute("race", race)};
    r.scored.p.resize(kRows, 2);
    r.scored.y.resize(kRows);
    r.scored.decision.resize(kRows);
    r.scored.favorable = 1;
    Rng rng(1, "audit bench");
    for (Index i = 0; i < kRows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      r.sex.group[at] = draw(rng, sex);
      r.race.group[at] = draw(rng, race);
      const double z = 2 * rng.normal() - 0.7 * r.sex.group[at] - 0.1 * r.race.group[at];
      const double p = 1 / (1 + std::exp(-z));
      r.scored.p(i, 0) = 1 - p;
      r.scored.p(i, 1) = p;
      r.scored.y[at] = rng.uniform() < p ? 1 : 0;
      r.scored.decision[at] = p >= 0.5 ? 1 : 0;
    }
    return r;
  }();
  return made;
}

Task task() {
  Task t;
  t.label = "y";
  t.classes = {"no", "yes"};
  t.favorable = "yes";
  return t;
}

void audit(benchmark::State& state) {
  const Rows10M& r = rows();
  std::vector<TalliedAttribute> attributes(2);
  attributes[0].attribute = &r.sex;
  attributes[1].attribute = &r.race;
  ScoredBlock block = block_of(r.scored);
  block.code = {r.sex.group, r.race.group};
  const TallyPlan plan{.favorable = 1,
                       .values = {std::ssize(r.sex.groups), std::ssize(r.race.groups)}};
  double seen = 0;
  bench::run(state, [&] {
    const AuditReport report =
        audit_tallies(tally(plan, block, {}), task(), attributes, {}, {});
    seen = report.accuracy.value;
  });
  state.counters["rows"] = static_cast<double>(kRows);
  state.counters["accuracy"] = seen;
}

void count(benchmark::State& state) {
  const Rows10M& r = rows();
  ScoredBlock block = block_of(r.scored);
  block.code = {r.sex.group, r.race.group};
  const TallyPlan plan{.classes = 2, .favorable = 1, .values = {2, 9}};
  Index seen = 0;
  bench::run(state, [&] { seen = tally(plan, block, {}).rows(); });
  state.counters["rows"] = static_cast<double>(seen);
}

void bootstrap(benchmark::State& state) {
  const std::vector<Index> counts{3120, 411, 902, 77, 2811, 1205, 640, 834};
  Index seen = 0;
  bench::run(state, [&] { seen = bootstrap_counts(counts, 10000, {})[9999][0]; });
  benchmark::DoNotOptimize(seen);
}

BENCHMARK(audit)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);
BENCHMARK(count)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);
BENCHMARK(bootstrap)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);

void write(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto save = [&](const char* name, const void* data, std::size_t bytes) {
    std::ofstream(folder / name, std::ios::binary)
        .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  const Rows10M& r = rows();
  const Vector p = r.scored.p.col(1);
  save("p.f64", p.data(), 8 * kRows);
  save("y.i32", r.scored.y.data(), 4 * kRows);
  save("decision.i32", r.scored.decision.data(), 4 * kRows);
  save("sex.i32", r.sex.group.data(), 4 * kRows);
  save("race.i32", r.race.group.data(), 4 * kRows);
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  for (int i = 1; i < argc; ++i) {
    constexpr std::string_view kWrite = "--write=";
    if (std::string_view(argv[i]).starts_with(kWrite)) {
      fmd::write(argv[i] + kWrite.size());
      std::swap(argv[i], argv[argc - 1]);
      --argc;
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
