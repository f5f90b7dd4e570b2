#include "cli/signature.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"

extern char** environ;

namespace fmd::cli {
namespace {

constexpr const char* kProgram = "ssh-keygen";
// What is signed: a signature for another purpose does not count.
constexpr const char* kNamespace = "fmd-receipt";
constexpr std::size_t kMostSaid = 65536;

struct KeygenRun {
  int code = -1;
  std::string out, said;  // stdout, stderr
};

// The two ends of a pipe that no other program inherits.
class KeygenPipe {
 public:
  KeygenPipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw Error(ErrorKind::cannot_write, "no pipe can be made for ssh-keygen");
  }
  ~KeygenPipe() {
    close_writer();
    ::close(ends_[0]);
  }
  KeygenPipe(const KeygenPipe&) = delete;
  KeygenPipe& operator=(const KeygenPipe&) = delete;

  [[nodiscard]] int writer() const { return ends_[1]; }
  [[nodiscard]] int reader() const { return ends_[0]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Reads both pipes to their ends, whichever is written first: a program whose stderr is
// full would wait, and never end its stdout.
void read_pipes(const std::array<int, 2>& fds, const std::array<std::string*, 2>& texts) {
  std::array<pollfd, 2> open = {pollfd{fds[0], POLLIN, 0}, pollfd{fds[1], POLLIN, 0}};
  std::array<char, 4096> piece{};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (::poll(open.data(), open.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t k = 0; k < open.size(); ++k) {
      if (open[k].fd < 0 || open[k].revents == 0) continue;
      const ssize_t got = ::read(open[k].fd, piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        open[k].fd = -1;  // poll() leaves it out
      } else if (texts[k]->size() < kMostSaid) {
        texts[k]->append(piece.data(), static_cast<std::size_t>(got));
      }
    }
  }
}

[[noreturn]] void no_program() {
  throw Error(
      ErrorKind::unsupported, "signatures need ssh-keygen, which is not installed",
      "install OpenSSH's client (Debian: openssh-client), or leave the signature out");
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A file in memory with these bytes, read from its start. The caller closes it.
int file_with(std::string_view bytes) {
  const int fd = ::memfd_create("signed", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != std::ssize(bytes) ||
      ::lseek(fd, 0, SEEK_SET) != 0)
    throw Error(ErrorKind::cannot_write, "there is no room for a copy for ssh-keygen");
  return fd;
}

// ssh-keygen with these arguments and these bytes as its input: what fmd has read itself,
// also from a pipe.
KeygenRun run_keygen(const std::vector<std::string>& arguments, std::string_view input) {
  std::vector<char*> argv = {const_cast<char*>(kProgram)};
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  KeygenPipe out, said;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int in = file_with(input);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out.writer(), 1);
  posix_spawn_file_actions_adddup2(&actions, said.writer(), 2);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, kProgram, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in);
  if (failed == ENOENT) no_program();
  if (failed != 0)
    throw Error(ErrorKind::unsupported, "ssh-keygen cannot be run",
                "check that it is a program that you may run");
  out.close_writer();
  said.close_writer();
  KeygenRun ran;
  read_pipes({out.reader(), said.reader()}, {&ran.out, &ran.said});
  ran.code = wait_for(child);
  if (ran.code == 127) no_program();
  return ran;
}

// The fingerprint is a word of its own, so that it fits a screen.
std::string keygen_line(const std::string& text) {
  std::string line = safe_text(text.substr(0, text.find('\n')));
  if (const std::size_t at = line.find("SHA256:"); at != std::string::npos)
    line.insert(at + 7, " ");
  return line;
}

}  // namespace

std::filesystem::path signature_of(const std::filesystem::path& file) {
  std::filesystem::path path = file;
  path += ".sig";
  return path;
}

void require_signing(const std::string& key) {
  if (key.empty()) return;
  if (!std::filesystem::is_regular_file(key))
    throw Error(ErrorKind::cannot_read, fmt::format("--sign {}: there is no such key", key),
                "name a private key that ssh-keygen made, such as ~/.ssh/id_ed25519");
  (void)run_keygen({"-l", "-f", key}, "");  // throws where there is no program
}

void sign_file(const std::filesystem::path& file, const std::string& key, bool force) {
  OutputFiles files({.force = force});
  files.reserve(signature_of(file));
  const KeygenRun ran = run_keygen({"-Y", "sign", "-q", "-n", kNamespace, "-f", key},
                                   FileView::open(file).text());
  if (ran.code != 0 || ran.out.find("BEGIN SSH SIGNATURE") == std::string::npos)
    throw Error(ErrorKind::bad_option,
                fmt::format("--sign {}: ssh-keygen cannot sign with it: {}", key,
                            keygen_line(ran.said)),
                "name a private key that ssh-keygen made, such as ~/.ssh/id_ed25519");
  files.write(signature_of(file), ran.out);
  files.commit();
}

Check check_signature(const std::filesystem::path& file, const Signer& signer) {
  Check check{.what = "signature", .result = CheckResult::unchecked, .detail = ""};
  const std::filesystem::path signature = signature_of(file);
  const std::string name = signature.filename().string();
  if (!std::filesystem::is_regular_file(signature)) {
    check.result = signer.allowed.empty() ? CheckResult::unchecked : CheckResult::differs;
    check.detail = name + " is not beside the file: it is not signed";
    return check;
  }
  std::vector<std::string> arguments = {"-Y", "check-novalidate", "-n", kNamespace,
                                        "-s", signature.string()};
  if (!signer.allowed.empty())
    arguments = {"-Y", "verify",       "-n", kNamespace, "-s", signature.string(),
                 "-f", signer.allowed, "-I", signer.name};
  const KeygenRun ran = run_keygen(arguments, FileView::open(file).text());
  if (ran.code != 0) {
    check.result = CheckResult::differs;
    check.detail =
        fmt::format("{} is no signature of this file{}: {}", name,
                    signer.allowed.empty() ? "" : " by " + safe_text(signer.name),
                    keygen_line(ran.said.empty() ? ran.out : ran.said));
  } else if (signer.allowed.empty()) {
    check.detail = keygen_line(ran.out) + "; give --allowed-signers to say whose key it is";
  } else {
    check.result = CheckResult::ok;
    check.detail = keygen_line(ran.out);
  }
  return check;
}

}  // namespace fmd::cli
