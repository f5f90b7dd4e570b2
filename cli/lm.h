#pragma once

#include <CLI/CLI.hpp>

namespace fmd::cli {

// What stands below `fmd lm`, each in the source of its name.
void add_lm_debias(CLI::App& lm);
void add_lm_explain(CLI::App& lm);
void add_lm_pairs(CLI::App& lm);
void add_lm_train(CLI::App& lm);

}  // namespace fmd::cli
