// Reads one table several times and prints one line of JSON: the shortest times, and the
// most memory that the process held at once against what the columns themselves take.
//
//   reading_bench FILE THREADS TURNS [stream]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <string>
#include <sys/resource.h>

#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "stopwatch.h"

namespace fmd::bench {
namespace {

double held_MB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double columns_MB(const Table& table) {
  double bytes = 0;
  for (const Column& column : table.columns) {
    bytes += 8.0 * static_cast<double>(column.numbers.size()) +
             4.0 * static_cast<double>(column.codes.size());
    for (const std::string& level : column.levels)
      bytes += static_cast<double>(sizeof(level) + level.size());
  }
  return bytes / (1 << 20);
}

struct Read {
  Index rows = 0;
  double MB = 0;
};

Read read_once(const std::string& file, bool stream, const Exec& exec) {
  if (!stream) {
    const Table table = read_table(file, {}, exec);
    return {table.rows(), columns_MB(table)};
  }
  TableStream blocks = TableStream::open(file, {}, exec);
  Read read;
  Table block;
  while (blocks.next(block)) {
    read.rows += block.rows();
    read.MB = std::max(read.MB, columns_MB(block));
  }
  return read;
}

int measure(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "reading_bench FILE THREADS TURNS [stream]\n");
    return 2;
  }
  ThreadPool pool(std::atoi(arguments[2]));
  const Exec exec{.pool = &pool};
  const bool stream = count > 4 && std::string(arguments[4]) == "stream";
  // From the second turn on the rivals' allocators give out memory that they have kept; the
  // C library's would give large blocks back and fetch fresh pages, which the system
  // clears.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  const double before = held_MB();
  Seconds best;
  Read read;
  for (int turn = 0; turn < std::atoi(arguments[3]); ++turn) {
    best.keep_shorter(time_of([&] { read = read_once(arguments[1], stream, exec); }));
  }
  std::printf(
      "{\"cpu_s\": %.6f, \"wall_s\": %.6f, \"rows\": %lld, \"columns_MB\": %.1f, "
      "\"held_MB\": %.1f}\n",
      best.cpu, best.wall, static_cast<long long>(read.rows), read.MB, held_MB() - before);
  return 0;
}

}  // namespace
}  // namespace fmd::bench

int main(int count, char** arguments) {
  try {
    return fmd::bench::measure(count, arguments);
  } catch (const fmd::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
