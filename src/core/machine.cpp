#include "fmd/core/machine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <thread>
#include <time.h>
#include <unistd.h>

#include "core/check.h"
#include "core/lapack.h"

namespace fmd {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The shortest of the runs that fit into the budget; the first one only warms up.
template <typename Run>
double best_seconds(double budget, const Run& run) {
  run();
  double best = 0;
  const double end = seconds(CLOCK_MONOTONIC) + budget;
  for (int i = 0; i < 2 || seconds(CLOCK_MONOTONIC) < end; ++i) {
    const double start = seconds(CLOCK_MONOTONIC);
    run();
    const double taken = seconds(CLOCK_MONOTONIC) - start;
    best = i == 0 ? taken : std::min(best, taken);
  }
  return std::max(best, 1e-9);
}

void gemm(int n, const double* a, const double* b, double* c) {
  const double one = 1, zero = 0;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}

void gemm(int n, const float* a, const float* b, float* c) {
  const float one = 1, zero = 0;
  sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}

template <typename Real>
double gemm_rate(double budget) {
  constexpr int kSize = 512;
  constexpr std::size_t kEntries = std::size_t{kSize} * kSize;
  std::vector<Real> a(kEntries), b(kEntries), c(kEntries);
  for (std::size_t i = 0; i < kEntries; ++i) {
    a[i] = static_cast<Real>(1) / static_cast<Real>(1 + i % 97);
    b[i] = static_cast<Real>(1) / static_cast<Real>(1 + i % 89);
  }
  const double best =
      best_seconds(budget, [&] { gemm(kSize, a.data(), b.data(), c.data()); });
  return 2e-9 * kSize * kSize * kSize / best;
}

constexpr std::size_t kMemoryWords = std::size_t{1} << 23;  // 64 MiB

double read_rate(double budget, const std::vector<std::uint64_t>& words) {
  volatile std::uint64_t result = 0;  // somebody must want the sum
  const double best = best_seconds(budget, [&] {
    std::array<std::uint64_t, 16> sums{};
    for (std::size_t i = 0; i < words.size(); i += sums.size())
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += words[i + k];
    std::uint64_t all = 0;
    for (const std::uint64_t sum : sums) all ^= sum;
    result = result + all;
  });
  return 1e-9 * static_cast<double>(words.size() * sizeof(std::uint64_t)) / best;
}

double copy_rate(double budget, std::vector<std::uint64_t>& words) {
  std::vector<std::uint64_t> copy(words.size());
  const std::size_t bytes = words.size() * sizeof(std::uint64_t);
  const double best = best_seconds(budget, [&] {
    std::memcpy(copy.data(), words.data(), bytes);
    words[0] = copy.back();  // so that no copy can be left out
  });
  return 1e-9 * static_cast<double>(bytes) / best;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

MachineInfo machine_info() {
  const Index pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return {.cpu = cpu_name(),
          .cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency())),
          .memory = pages > 0 && page > 0 ? pages * page : 0};
}

MachineRates measure_machine(double seconds_budget) {
  require_option(seconds_budget > 0, "measure", "seconds_budget", seconds_budget, "> 0");
  const double each = seconds_budget / 4;
  const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  MachineRates rates;
  rates.gemm_f64 = gemm_rate<double>(each);
  rates.gemm_f32 = gemm_rate<float>(each);
  std::vector<std::uint64_t> words(kMemoryWords, 3);
  rates.memory_read = read_rate(each, words);
  rates.memory_copy = copy_rate(each, words);
  rates.cpu_share = (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) /
                    std::max(1e-9, seconds(CLOCK_MONOTONIC) - wall);
  return rates;
}

}  // namespace fmd
