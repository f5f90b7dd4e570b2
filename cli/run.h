#pragma once

namespace fmd::cli {

// The whole command, from its arguments to the exit code. Errors are printed to stderr.
[[nodiscard]] int run_command(int argc, char** argv);

}  // namespace fmd::cli
