// Influence of every training row on a bias: from cached features and head to one score for
// each row. The job comes from bench/rivals/make_influence_job.py, so that other programs
// do the same work on the same numbers:
//
//   influence_bench --job=FILE [--scores=FILE]
//
// and how its time grows with the number of rows, features and classes, on made-up rows.

#include "fmd/influence/influence.h"

#include <memory>

#include <benchmark/benchmark.h>

#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "job.h"
#include "stopwatch.h"

namespace fmd {
namespace {

using bench::Job;

std::unique_ptr<Features> normal(Index rows, Index cols, Rng& rng) {
  std::vector<float> values;
  for (Index i = 0; i < rows * cols; ++i)
    values.push_back(static_cast<float>(rng.normal()));
  return make_dense(std::move(values), rows, cols);
}

// The influence of a row needs no optimum, so random weights will do for the time.
Job made_up(Index rows, Index cols, Index outputs) {
  Rng rng(1, "influence bench");
  Job job;
  job.X = normal(rows, cols, rng);
  job.C = normal(5000, cols, rng);
  job.Cbar = normal(5000, cols, rng);
  for (Index i = 0; i < rows; ++i)
    job.y.push_back(static_cast<std::int32_t>(rng.below(classes_of(outputs))));
  for (Index i = 0; i < 5000; ++i)
    job.pair_y.push_back(static_cast<std::int32_t>(rng.below(classes_of(outputs))));
  job.theta.resize(outputs * (cols + 1));
  for (double& t : job.theta) t = rng.normal() / std::sqrt(static_cast<double>(cols));
  job.l2 = 1e-3;
  job.make_pairs();
  return job;
}

Index outputs_of(const Job& job) { return job.theta.size() / (job.X->cols() + 1); }

InfluenceResult scores(const Job& job) {
  const LinearHead head(job.X->cols(), outputs_of(job));
  const auto co = make_measure("co");
  InfluenceOptions options;
  options.curvature.l2 = job.l2;
  options.curvature.tolerance = 1e-3;
  return influence(head, job.train(), job.theta, {{co.get(), {&job.pairs, {}, {}}}},
                   options, {});
}

void measure(benchmark::State& state, const Job& job, const std::string& write) {
  InfluenceResult result;
  bench::run(state, [&] { result = scores(job); });
  state.counters["steps"] = static_cast<double>(result.solve.iterations);
  state.counters["residual"] = result.solve.residual;
  state.counters["cg"] = result.solve.solver == "cg" ? 1 : 0;
  if (write.empty()) return;
  bench::write_vector(write, "change", result.change.col(0));
}

std::string name_of(const std::string& kind, const Job& job) {
  return kind + "/" + std::to_string(job.X->rows()) + "x" + std::to_string(job.X->cols()) +
         "x" + std::to_string(outputs_of(job));
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& work) {
  benchmark::RegisterBenchmark(name.c_str(), work)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace fmd

int main(int argc, char** argv) {
  fmd::setup_blas();
  benchmark::Initialize(&argc, argv);
  const std::string job_file = fmd::bench::argument(argc, argv, "job");
  const std::string scores_file = fmd::bench::argument(argc, argv, "scores");
  if (!job_file.empty()) {
    const auto job = std::make_shared<fmd::bench::Job>(fmd::bench::read_job(job_file));
    fmd::add(fmd::name_of("influence", *job), [job, scores_file](benchmark::State& state) {
      fmd::measure(state, *job, scores_file);
    });
  }
  const fmd::Index shapes[][3] = {{15000, 100, 10},  {30000, 100, 10}, {60000, 100, 10},
                                  {120000, 100, 10}, {60000, 50, 10},  {60000, 200, 10},
                                  {60000, 100, 1},   {60000, 100, 5}};
  for (const auto& [rows, cols, outputs] : shapes) {
    const std::string name = "growth/" + std::to_string(rows) + "x" + std::to_string(cols) +
                             "x" + std::to_string(outputs);
    fmd::add(name, [rows = rows, cols = cols, outputs = outputs](benchmark::State& state) {
      fmd::measure(state, fmd::made_up(rows, cols, outputs), "");
    });
  }
  benchmark::RunSpecifiedBenchmarks();
}
