#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "cli/run.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"

namespace {

// Where a caller closed stdin, stdout or stderr, the next file that is opened would take
// its place, and what is printed would go into that file. These take the places instead,
// and refuse what is read or written.
void occupy_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_PATH));
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_files();
  const char* folder = std::getenv("TMPDIR");
  fmd::serve_pipes(folder == nullptr || *folder == 0 ? "/tmp" : folder);
  // Output files have temporary names until they are complete: on a signal they are
  // removed, and nothing needs to be saved.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    std::signal(signal, [](int number) {
      fmd::remove_unfinished();
      _exit(128 + number);
    });
  }
  return fmd::cli::run_command(argc, argv);
}
