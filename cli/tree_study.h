#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace fmd::cli {

// The study of boosted trees, which trains models with their own libraries: it is a Python
// script inside the command (repro/trees.py), run by a Python that has these libraries.
struct TreeStudy {
  std::string python;   // a program
  std::string fairgbm;  // a Python that has FairGBM; empty: without
  std::filesystem::path folder;
  std::uint64_t seed = 1;
  int seeds = 10;
  bool quick = false, fresh = false, draw = false;
};

// Writes trees.md and trees.json into the folder. Throws Error(unsupported) where there is
// no such Python or it lacks a package, Error(bad_data) where the script ends with an
// error, which it has printed.
void run_tree_study(const TreeStudy& study);

}  // namespace fmd::cli
