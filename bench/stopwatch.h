#pragma once

// Time of one piece of work: CPU seconds of the whole process and wall seconds. On a
// machine that does other work too only the first is worth comparing.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>

#include <benchmark/benchmark.h>

namespace fmd::bench {

struct Seconds {
  double cpu = std::numeric_limits<double>::infinity();
  double wall = cpu;

  void keep_shorter(const Seconds& other) {
    cpu = std::min(cpu, other.cpu);
    wall = std::min(wall, other.wall);
  }
};

inline double cpu_clock() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Work>
Seconds time_of(const Work& work) {
  const auto wall = std::chrono::steady_clock::now();
  const double cpu = cpu_clock();
  work();
  const double taken = cpu_clock() - cpu;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - wall;
  return {taken, passed.count()};
}

// Runs the loop of a benchmark registered with UseManualTime; the shortest times become the
// counters cpu_s and wall_s.
template <typename Work>
Seconds run(benchmark::State& state, const Work& work) {
  Seconds best;
  for (auto _ : state) {
    const Seconds taken = time_of(work);
    state.SetIterationTime(taken.cpu);
    best.keep_shorter(taken);
  }
  state.counters["cpu_s"] = best.cpu;
  state.counters["wall_s"] = best.wall;
  return best;
}

}  // namespace fmd::bench
