#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"

namespace fmd {

// The paper's tables and figures, measured again.

struct ReproduceOptions {
  std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  // Few rows, few epochs: shows that everything runs. No figure of it means anything.
  bool quick = false;
  std::filesystem::path data;   // folder of the data sets
  std::filesystem::path cache;  // file that keeps finished seeds; empty = none is kept
  bool fresh = false;           // start over: what the cache holds is not used
  // Told after each case and seed, for people who wait.
  std::function<void(const std::string&)> say = {};
};

// Mean over seeds with the 95 % interval of Student's t; low = high = NaN for one seed.
struct SeedMean {
  Index seeds = 0;
  double mean = 0, low = 0, high = 0;
};
[[nodiscard]] SeedMean seed_mean(const std::vector<double>& values);

struct ReproducedRow {
  std::string id, title;
  std::map<std::string, double> paper, bar;  // by column; absent = not printed, no bar
  std::map<std::string, SeedMean> ours;      // accuracy in %, bias, seconds, choosing, ...
  bool labels = false;                       // labels of the external rows were used
  std::string chosen;                        // with the first seed
};

struct ReproducedCase {
  std::string name, title;
  std::vector<ReproducedRow> rows;
  std::map<std::string, SeedMean> facts;
  std::string pictures;  // JSON, of the first seed; "" = none
};

struct ReproducedTable {
  std::string name, title, source;
  std::vector<std::string> columns;
  std::vector<ReproducedCase> cases;
  std::vector<std::string> notes;
  std::vector<std::uint64_t> seeds;
  bool quick = false;
  std::string machine, version;
};

// What there is to reproduce: toy, table1, ...
[[nodiscard]] std::vector<std::string> reproducible();

// Runs every case with every seed, those that the cache has left out. Throws
// Error(bad_option: no such table, no seeds), Error(missing_dataset, wrong_checksum), what
// writing the cache throws.
[[nodiscard]] ReproducedTable reproduce(const std::string& name,
                                        const ReproduceOptions& options, const Exec& exec);

[[nodiscard]] std::string to_json(const ReproducedTable& table);
[[nodiscard]] std::string to_markdown(const ReproducedTable& table);

}  // namespace fmd
