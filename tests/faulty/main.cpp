#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>

#include "cli/run.h"
#include "core/disk.h"

// The command with a fault at its N-th change of the disk, for tests:
//
//   fmd_faulty FAULT N ARGUMENTS OF fmd
//
//   kill      SIGKILL before the call
//   once      the call fails: no space left; later ones work again
//   full      this and every later call that needs space fails: no space left
//   readonly  this and every later call fails: read-only file system
//   count     no fault; the number of calls is printed on stderr at the end
namespace {

int calls = 0;

[[noreturn]] void refuse(int code) {
  throw std::system_error(code, std::generic_category());
}

void install(const std::string& fault, int at) {
  fmd::disk::set_hook([fault, at](const char* name) {
    const std::string call = name;
    if (++calls < at) return;
    if (fault == "kill") ::kill(::getpid(), SIGKILL);
    if (fault == "once" && calls == at) refuse(ENOSPC);
    if (fault == "full" && (call == "create" || call == "write")) refuse(ENOSPC);
    if (fault == "readonly") refuse(EROFS);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 98;
  const std::string fault = argv[1];
  install(fault, fault == "count" ? 1 : std::atoi(argv[2]));
  argv[2] = argv[0];
  const int status = fmd::cli::run_command(argc - 2, argv + 2);
  if (fault == "count") fmt::print(stderr, "{} disk calls\n", calls);
  return status;
}
