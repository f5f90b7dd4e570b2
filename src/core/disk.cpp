#include "core/disk.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

namespace fmd::internal::disk {
namespace {

Hook& hook() {
  static Hook installed;
  return installed;
}

void announce(const char* call, const Path& path) {
  if (!hook()) return;
  try {
    hook()(call);
  } catch (const std::system_error& error) {
    fail(path, error.code().value());
  }
}

bool is_temporary(const Path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".") && name.ends_with(kTemporary);
}

// The file that the user named, for messages about its temporary.
Path shown(const Path& path) {
  if (is_temporary(path.parent_path()))  // a file of a folder
    return shown(path.parent_path()) / path.filename();
  if (!is_temporary(path)) return path;
  const std::string name = path.filename().string();
  return path.parent_path() / name.substr(1, name.size() - 1 - kTemporary.size());
}

// A system call that was interrupted by a signal is made again.
template <typename Call>
auto repeat(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

struct Remembered {
  std::atomic<bool> used = false;
  std::array<char, 4096> path = {};
};

std::array<Remembered, 64>& remembered() {
  static std::array<Remembered, 64> all;
  return all;
}

std::atomic<int> creating = 0;

std::string_view remedy(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or write to another disk";
    case EACCES:
    case EPERM:
    case EROFS:
      return "write to a folder in which you may make files";
    case ENAMETOOLONG:
      return "choose a shorter name";
    default:
      return "";
  }
}

}  // namespace

void set_hook(Hook installed) { hook() = std::move(installed); }

std::string reason(int code) { return std::generic_category().message(code); }

void fail(const Path& path, int code) {
  throw Error(ErrorKind::cannot_write,
              fmt::format("cannot write {}: {}", shown(path).string(), reason(code)),
              std::string(remedy(code)));
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

File create(const Path& path) {
  announce("create", path);
  const int fd = repeat([&] {
    return ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
  });
  if (fd < 0 && errno != EEXIST) fail(path, errno);
  return File(fd);
}

File create_folder(const Path& path) {
  announce("create", path);
  if (::mkdir(path.c_str(), 0777) != 0) {
    if (errno != EEXIST) fail(path, errno);
    return {};
  }
  return open_existing(path);
}

File create_private(const Path& folder) {
  announce("create", folder);
  const int fd =
      repeat([&] { return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); });
  if (fd >= 0) return File(fd);
  // A file system without nameless files: one with a name, which is taken away at once.
  std::string name = (folder / "fmd-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);  // mode 0600
  if (named < 0) fail(folder, errno);
  File file(named);
  ::unlink(name.c_str());
  return file;
}

void write(const File& file, const Path& path, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    announce("write", path);
    const ssize_t written =
        repeat([&] { return ::write(file.fd(), bytes.data(), bytes.size()); });
    if (written < 0) fail(path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void write_at(const File& file, const Path& path, Index offset,
              std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    announce("write", path);
    const ssize_t written =
        repeat([&] { return ::pwrite(file.fd(), bytes.data(), bytes.size(), offset); });
    if (written < 0) fail(path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
}

void copy(const File& file, const Path& path, int from, Index offset, Index length) {
  constexpr Index kPiece = Index{1} << 26, kBuffer = Index{1} << 20;
  bool in_kernel = true;
  Bytes buffer;
  while (length > 0) {
    if (in_kernel) {
      announce("write", path);
      off64_t at = offset;
      const ssize_t copied = repeat([&] {
        return ::copy_file_range(from, &at, file.fd(), nullptr,
                                 static_cast<std::size_t>(std::min(length, kPiece)), 0);
      });
      if (copied < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
        fail(path, errno);
      in_kernel = copied > 0;  // otherwise: not between these files
      if (!in_kernel) continue;
      offset += copied;
      length -= copied;
      continue;
    }
    buffer.resize(static_cast<std::size_t>(std::min(length, kBuffer)));
    const ssize_t got =
        repeat([&] { return ::pread(from, buffer.data(), buffer.size(), offset); });
    if (got <= 0) fail(path, got < 0 ? errno : EIO);  // 0: somebody shortened the source
    write(file, path, std::span(buffer).first(static_cast<std::size_t>(got)));
    offset += got;
    length -= got;
  }
}

void empty(const File& file, const Path& path) {
  announce("truncate", path);
  if (repeat([&] { return ::ftruncate(file.fd(), 0); }) != 0) fail(path, errno);
  if (::lseek(file.fd(), 0, SEEK_SET) != 0) fail(path, errno);
}

void shorten(const File& file, const Path& path, Index size) {
  if (repeat([&] { return ::ftruncate(file.fd(), size); }) != 0) fail(path, errno);
}

void set_mode(const File& file, const Path& path, mode_t mode) {
  announce("chmod", path);
  if (::fchmod(file.fd(), mode) != 0) fail(path, errno);
}

void sync(const File& file, const Path& path) {
  announce("sync", path);
  if (repeat([&] { return ::fsync(file.fd()); }) != 0) fail(path, errno);
}

void remember(const Path& path) {
  for (Remembered& slot : remembered()) {
    if (slot.used || path.native().size() >= slot.path.size()) continue;
    std::strcpy(slot.path.data(), path.c_str());
    slot.used = true;
    return;
  }
}

void forget(const Path& path) {
  for (Remembered& slot : remembered())
    if (slot.used && path.native() == slot.path.data()) slot.used = false;
}

Creating::Creating() { ++creating; }
Creating::~Creating() { --creating; }

void remove_remembered() noexcept {
  constexpr timespec kMoment{0, 1'000'000};
  for (int i = 0; i < 2000 && creating > 0; ++i) ::nanosleep(&kMoment, nullptr);
  for (const Remembered& slot : remembered())
    if (slot.used) ::unlink(slot.path.data());
  for (const Remembered& slot : remembered())  // folders, now empty
    if (slot.used) ::rmdir(slot.path.data());
}

void sync_folder(const Path& folder) {
  announce("sync folder", folder);
  const File file(
      repeat([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!file.is_open()) fail(folder, errno);
  // Some file systems cannot sync a folder and say so by EINVAL.
  if (repeat([&] { return ::fsync(file.fd()); }) != 0 && errno != EINVAL)
    fail(folder, errno);
}

void rename(const Path& from, const Path& to) {
  announce("rename", to);
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, errno);
}

void remove(const Path& path) {
  announce("remove", path);
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  if (errno != EISDIR || !is_temporary(path)) fail(path, errno);
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(path, unreadable)) {
    announce("remove", path);
    if (::unlink(entry.path().c_str()) != 0 && errno != ENOENT) fail(path, errno);
  }
  announce("remove", path);
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT) fail(path, errno);
}

void remove_empty_folder(const Path& path) {
  announce("remove", path);
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY &&
      errno != EEXIST)
    fail(path, errno);
}

File open_existing(const Path& path) {
  // Network file systems lock only what is open for writing.
  constexpr int kCommon = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int fd = repeat([&] { return ::open(path.c_str(), O_RDWR | kCommon); });
  if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EISDIR))
    fd = repeat([&] { return ::open(path.c_str(), O_RDONLY | kCommon); });
  if (fd < 0 && errno != ENOENT) fail(path, errno);
  return File(fd);
}

bool lock(const File& file, bool wait) {
  if (repeat([&] { return ::flock(file.fd(), LOCK_EX | (wait ? 0 : LOCK_NB)); }) == 0)
    return true;
  return errno != EWOULDBLOCK;  // a file system without locks: go on without
}

void require_writable(const Path& path) {
  if (::access(path.c_str(), W_OK) != 0) fail(path, errno);
}

bool is_regular(const File& file) {
  struct stat open {};
  return ::fstat(file.fd(), &open) == 0 && S_ISREG(open.st_mode);
}

bool is_at(const File& file, const Path& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(file.fd(), &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace fmd::internal::disk
