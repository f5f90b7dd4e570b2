#pragma once

namespace fmd::cli {

// The whole command, from its arguments to the exit code. Errors are printed to stderr.
[[nodiscard]] int run_command(int argc, char** argv);

// The same in a process that does nothing else: with what its standard files and signals
// need.
[[nodiscard]] int run_process(int argc, char** argv);

}  // namespace fmd::cli
