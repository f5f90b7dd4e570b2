// Post-processing on Adult: logistic regression scores, attribute sex, 70 % of the rows to
// fit on and 30 % to answer. `--write=FOLDER` leaves scores, labels and groups as raw
// numbers, for other programs to be timed on the same rows. Without Adult in FMD_DATA
// scores are made up.

#include "fmd/baselines/postprocess.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <benchmark/benchmark.h>

#include "fmd/core/blas.h"
#include "fmd/core/rng.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/pipeline/study.h"
#include "fmd/pipeline/train_model.h"
#include "stopwatch.h"

namespace fmd {
namespace {

struct Scores {
  PostRows fit, answer;
  bool real = false;
};

void add(PostRows& rows, double score, bool favorable, std::int32_t group) {
  rows.score.push_back(score);
  rows.favorable.push_back(favorable ? 1 : 0);
  rows.group.push_back(group);
}

Scores adult_like() {
  Scores scores;
  Rng rng(1, "adult-like scores");
  for (Index i = 0; i < 45222; ++i) {
    const std::int32_t group = rng.uniform() < 0.67 ? 1 : 0;
    const double p = 1 / (1 + std::exp(1.8 - 2 * rng.normal() - group));
    add(i < 31655 ? scores.fit : scores.answer, p, rng.uniform() < p, group);
  }
  return scores;
}

Scores load_adult() {
  const char* folder = std::getenv("FMD_DATA");
  if (folder == nullptr ||
      !std::filesystem::exists(std::filesystem::path(folder) / "adult"))
    return adult_like();
  const Table table = load_dataset("adult", folder);
  const Task task = find_dataset("adult").task;
  const std::vector<Part> parts = {{"fit", .7}, {"answer", .3}};
  const std::vector<std::int32_t> y = labels(table, task);
  const auto rows = split_rows(y, parts, 1);
  const Model model = train_model(select(table, rows[0]), task, "", {}, {}).model;
  const Study study = make_study(model, table, model.task, true, {});
  const Attribute& sex = study.attributes[static_cast<std::size_t>(study.find("sex"))];
  const std::int32_t male = sex.values[0] == "Male" ? 0 : 1;
  Scores scores;
  scores.real = true;
  for (std::size_t k = 0; k < 2; ++k) {
    const Scored scored = score(model, study, rows[k], {});
    for (Index i = 0; i < scored.rows(); ++i) {
      const auto row = static_cast<std::size_t>(rows[k][static_cast<std::size_t>(i)]);
      add(k == 0 ? scores.fit : scores.answer, scored.p(i, 1), y[row] == 1,
          sex.code[row] == male ? 1 : 0);
    }
  }
  return scores;
}

const Scores& scores() {
  static const Scores made = load_adult();
  return made;
}

void describe(benchmark::State& state) {
  state.counters["rows"] = static_cast<double>(scores().fit.size());
  state.counters["real_adult"] = scores().real ? 1 : 0;
}

std::vector<std::uint8_t> decided(const PostRows& rows) {
  std::vector<std::uint8_t> out;
  for (const double s : rows.score) out.push_back(s >= 0.5 ? 1 : 0);
  return out;
}

// Favourable answers, drawn where lots are drawn.
template <typename Yes>
Index answer(const PostRows& rows, const Yes& yes) {
  Rng rng(1, "lots");
  Index count = 0;
  for (std::size_t i = 0; i < rows.score.size(); ++i) count += rng.uniform() < yes(i);
  return count;
}

void eqodd(benchmark::State& state) {
  const auto fit = decided(scores().fit), asked = decided(scores().answer);
  const PostRows& rows = scores().answer;
  EqualizedOdds found;
  bench::run(state, [&] {
    found = fit_equalized_odds(scores().fit, fit);
    benchmark::DoNotOptimize(answer(
        rows, [&](std::size_t i) { return found.yes(asked[i] != 0, rows.group[i]); }));
  });
  describe(state);
  state.counters["objective"] = found.objective;
}

void ceqodd(benchmark::State& state) {
  const PostRows& rows = scores().answer;
  CalibratedOdds found;
  bench::run(state, [&] {
    found = fit_calibrated_odds(scores().fit);
    benchmark::DoNotOptimize(answer(
        rows, [&](std::size_t i) { return found.yes(rows.score[i], rows.group[i], 0.5); }));
  });
  describe(state);
  state.counters["mix"] = found.mix[0] + found.mix[1];
}

void reject(benchmark::State& state) {
  const PostRows& rows = scores().answer;
  RejectOption found;
  bench::run(state, [&] {
    found = fit_reject_option(scores().fit);
    benchmark::DoNotOptimize(answer(rows, [&](std::size_t i) {
      return found.yes(rows.score[i], rows.group[i]) ? 1.0 : 0.0;
    }));
  });
  describe(state);
  state.counters["threshold"] = found.threshold;
  state.counters["margin"] = found.margin;
}

BENCHMARK(eqodd)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(50);
BENCHMARK(ceqodd)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(50);
BENCHMARK(reject)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(20);

void write(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& [name, rows] :
       {std::pair{"fit", &scores().fit}, {"answer", &scores().answer}}) {
    const auto save = [&](const char* column, const void* data, std::size_t bytes) {
      std::ofstream(folder / (std::string(name) + "." + column), std::ios::binary)
          .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    };
    save("score.f64", rows->score.data(), 8 * rows->score.size());
    save("y.u8", rows->favorable.data(), rows->favorable.size());
    save("group.i32", rows->group.data(), 4 * rows->group.size());
  }
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
