#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "cli/run.h"

// The command without the cost of starting it, for tools/fuzz_commands.py: this program
// starts once, and each run is a copy of it (fork).
//
//   fmd_forked SECONDS_OF_CPU SECONDS
//
// A request on stdin is a size and as many bytes: texts that end with a 0. The first three
// are the folder to run in and the files that take stdout and stderr; the others are the
// arguments, with the name of the program. The answer on stdout is the status of waitpid(),
// the milliseconds of CPU and the peak memory in kB.
namespace {

bool read_all(void* out, std::size_t size) {
  auto* at = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t got = ::read(STDIN_FILENO, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void take_place(int place, const char* file, int flags) {
  const int fd = ::open(file, flags, 0600);
  if (fd < 0 || ::dup2(fd, place) < 0) ::_exit(97);
  ::close(fd);
}

[[noreturn]] void run(std::vector<char*>& texts, rlim_t cpu, unsigned seconds) {
  if (::chdir(texts[0]) != 0) ::_exit(97);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  take_place(STDIN_FILENO, "/dev/null", O_RDONLY);
  take_place(STDOUT_FILENO, texts[1], kWrite);
  take_place(STDERR_FILENO, texts[2], kWrite);
  const rlimit limit{cpu, cpu + 1};
  ::setrlimit(RLIMIT_CPU, &limit);
  ::alarm(seconds);
  const int argc = static_cast<int>(texts.size()) - 3;
  texts.push_back(nullptr);
  std::exit(fmd::cli::run_process(argc, texts.data() + 3));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 98;
  const auto cpu = static_cast<rlim_t>(std::atoi(argv[1]));
  const auto seconds = static_cast<unsigned>(std::atoi(argv[2]));
  std::uint32_t size = 0;
  std::string request;
  while (read_all(&size, sizeof(size))) {
    request.resize(size);
    if (!read_all(request.data(), size)) return 98;
    std::vector<char*> texts;
    for (std::size_t at = 0; at < size; at = request.find('\0', at) + 1)
      texts.push_back(request.data() + at);
    if (texts.size() < 4 || request.back() != '\0') return 98;
    const pid_t child = ::fork();
    if (child < 0) return 98;
    if (child == 0) run(texts, cpu, seconds);
    int status = 0;
    rusage usage{};
    while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) continue;
    const auto milliseconds = [](const timeval& t) {
      return t.tv_sec * 1000 + t.tv_usec / 1000;
    };
    const std::int32_t answer[3] = {status,
                                    static_cast<std::int32_t>(milliseconds(usage.ru_utime) +
                                                              milliseconds(usage.ru_stime)),
                                    static_cast<std::int32_t>(usage.ru_maxrss)};
    if (::write(STDOUT_FILENO, answer, sizeof(answer)) != sizeof(answer)) return 98;
  }
  return 0;
}
