#pragma once

namespace fmd::cli {

// The whole command, from its arguments to the exit code; errors become words on stderr.
[[nodiscard]] int run_command(int argc, char** argv);

}  // namespace fmd::cli
