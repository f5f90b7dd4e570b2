#pragma once

#include <CLI/CLI.hpp>

#include "cli/common.h"
#include "cli/run.h"

namespace fmd::cli {

// Every command stands in the source of its name, and adds itself here.
void add_demo(CLI::App& app);
void add_split(CLI::App& app);
void add_train(CLI::App& app);
void add_columns(CLI::App& app);
void add_predict(CLI::App& app);
void add_audit(CLI::App& app);
void add_merge(CLI::App& app);
void add_features(CLI::App& app);
void add_pairs(CLI::App& app);
void add_explain(CLI::App& app);
void add_debias(CLI::App& app);
void add_compare(CLI::App& app);
void add_undo(CLI::App& app);
void add_verify(CLI::App& app);
void add_data(CLI::App& app);
void add_reproduce(CLI::App& app);
void add_coverage(CLI::App& app);
void add_lm(CLI::App& app);
void add_import(CLI::App& app);
void add_model(CLI::App& app);
void add_doctor(CLI::App& app);

}  // namespace fmd::cli
