#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/repro/reproduced_table.h"

namespace fmd {

// The paper's tables and figures, measured again.

struct ReproduceOptions {
  std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  // Few rows, few epochs: shows that everything runs. Its figures mean nothing.
  bool quick = false;
  std::filesystem::path data;      // folder of the data sets
  std::filesystem::path cache;     // file that keeps finished seeds; empty = none is kept
  std::filesystem::path features;  // folder that keeps features of images; empty = none
  std::filesystem::path model;     // folder of a language model, for table4; empty = none
  // Folder where long trainings leave their state, so that a run that was stopped goes on.
  // It is made, and removed when all is done. Empty = none.
  std::filesystem::path checkpoints;
  bool fresh = false;  // start again: the content of the cache is not used
  // Called after each case and seed, for people who wait.
  std::function<void(const std::string&)> say = {};
};

// The names of what can be reproduced: toy, table1, ...
[[nodiscard]] std::vector<std::string> reproducible();

// The table whose page shows the rows of this one too; "": none.
[[nodiscard]] std::string shown_beside(const std::string& name);

// Runs every case with every seed, except those that the cache has. Throws
// Error(bad_option: no such table, no seeds), Error(missing_dataset, wrong_checksum), and
// what writing the cache throws.
[[nodiscard]] ReproducedTable reproduce(const std::string& name,
                                        const ReproduceOptions& options, const Exec& exec);

}  // namespace fmd
