#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "fmd/report/audit_report.h"

namespace fmd::cli {

// Options of `audit`: its limits, what it compares with, and the form of its report.
struct GateArgs {
  std::vector<std::string> limits, fail_over, fail_under, allow;
  std::string on_unclear = "exit-3", format, previous, previous_model;
  bool fail_on_worse = false, guard = false;
};

void add_gate_options(CLI::App& command, GateArgs& args);

// Whether a flag names a limit.
[[nodiscard]] bool judges(const GateArgs& args);
// The limits that flags name; none when they name none. Throws Error(bad_option).
[[nodiscard]] std::optional<std::vector<Limit>> limits_of(const GateArgs& args);

// The report as text in a format: screen, json, csv, markdown, junit. guard: of csv, see
// CsvGuard.
[[nodiscard]] std::string formatted(const AuditReport& report, const std::string& format,
                                    bool guard = false);

[[nodiscard]] int exit_for(const AuditReport& report, const GateArgs& args);

}  // namespace fmd::cli
