#include <csignal>
#include <unistd.h>

#include "cli/commands.h"

int main(int argc, char** argv) {
  // Output files have temporary names until they are complete, so there is nothing to save.
  std::signal(SIGINT, [](int) { _exit(130); });
  return fmd::cli::run_command(argc, argv);
}
