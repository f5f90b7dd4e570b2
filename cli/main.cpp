#include <csignal>
#include <unistd.h>

#include "cli/run.h"
#include "fmd/core/output_files.h"

int main(int argc, char** argv) {
  // Output files have temporary names until they are complete: on a signal they are
  // removed, and nothing needs to be saved.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, [](int number) {
      fmd::remove_unfinished();
      _exit(128 + number);
    });
  }
  return fmd::cli::run_command(argc, argv);
}
