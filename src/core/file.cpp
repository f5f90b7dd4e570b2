#include "fmd/core/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/disk.h"

namespace fmd {
namespace {

using disk::Path;
using SharedFile = std::shared_ptr<const disk::File>;

[[noreturn]] void cannot_read(const std::string& name, const std::string& reason,
                              const char* hint) {
  throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", name, reason),
              hint);
}

[[noreturn]] void cannot_read(const std::string& name, int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      cannot_read(name, "there is no such file", "check the path");
    case EACCES:
    case EPERM:
      cannot_read(name, "no permission", "give yourself permission to read it");
    default:
      cannot_read(name, disk::reason(code), "");
  }
}

// Copies of pipes, by the identity of the pipe, once a command has asked for them.
struct Pipes {
  std::mutex mutex;
  std::optional<Path> folder;
  std::map<std::pair<dev_t, ino_t>, SharedFile> copies;
};

Pipes& pipes() {
  static Pipes all;
  return all;
}

struct stat info_of(int fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) cannot_read(name, errno);
  return info;
}

// The same bytes in a file that has no name, which nobody else can reach.
SharedFile spool(const disk::File& from, const std::string& name, const Path& folder) {
  auto copy = std::make_shared<disk::File>(disk::create_private(folder));
  Bytes buffer(std::size_t{1} << 16);
  for (;;) {
    const ssize_t count = ::read(from.fd(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(name, errno);
    if (count == 0) return copy;
    disk::write(*copy, folder / "copy of a pipe",
                std::span(buffer).first(static_cast<std::size_t>(count)));
  }
}

// Devices such as /dev/zero have no end, or do things when they are read.
void refuse_devices(const struct stat& info, int fd, const std::string& name) {
  if (S_ISDIR(info.st_mode)) cannot_read(name, "it is a folder", "name a file");
  const bool null = S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
  if (S_ISBLK(info.st_mode) ||
      (S_ISCHR(info.st_mode) && !null && (fd < 0 || ::isatty(fd) == 0)))
    cannot_read(name, "it is a device", "name a file or a pipe");
}

// Opens the path; pipes and files without a size are copied.
SharedFile open_or_copy(const Path& path, const std::string& name) {
  Pipes& known = pipes();
  const std::lock_guard lock(known.mutex);
  const bool command = known.folder.has_value();
  const bool standard = command && name == "-";
  struct stat info {};
  if ((standard ? ::fstat(STDIN_FILENO, &info) : ::stat(path.c_str(), &info)) != 0)
    cannot_read(name, errno);
  // A pipe whose writer is gone would make us wait for another one.
  if (const auto copy = known.copies.find({info.st_dev, info.st_ino});
      copy != known.copies.end())
    return copy->second;
  auto file =
      std::make_shared<disk::File>(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file->is_open()) cannot_read(name, errno);
  info = info_of(file->fd(), name);
  refuse_devices(info, file->fd(), name);
  if (S_ISREG(info.st_mode) && info.st_size > 0) return file;
  SharedFile copy = spool(*file, name, known.folder.value_or("/tmp"));
  if (command && !S_ISREG(info.st_mode)) known.copies[{info.st_dev, info.st_ino}] = copy;
  return copy;
}

}  // namespace

struct InputFile::State {
  // What tells that the contents are the same.
  struct Version {
    off_t size = 0;
    time_t seconds = 0;
    long nanoseconds = 0;
    bool operator==(const Version&) const = default;
  };
  [[nodiscard]] Version version_now() const {
    const struct stat info = info_of(file->fd(), name);
    return {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  }

  std::string name;
  SharedFile file;                      // null: in memory
  std::span<const std::uint8_t> bytes;  // in memory
  Version opened;
};

InputFile::InputFile() : state_(std::make_unique<State>()) {}
InputFile::~InputFile() = default;

std::shared_ptr<const InputFile> InputFile::open(const Path& path) {
  const std::shared_ptr<InputFile> input(new InputFile);
  State& s = *input->state_;
  s.name = path.string();
  s.file = open_or_copy(path, s.name);
  s.opened = s.version_now();
  return input;
}

std::shared_ptr<const InputFile> InputFile::in_memory(std::span<const std::uint8_t> bytes,
                                                      std::string name) {
  const std::shared_ptr<InputFile> input(new InputFile);
  input->state_->name = std::move(name);
  input->state_->bytes = bytes;
  return input;
}

const std::string& InputFile::name() const { return state_->name; }

Index InputFile::size() const {
  return state_->file == nullptr ? std::ssize(state_->bytes)
                                 : static_cast<Index>(state_->opened.size);
}

void InputFile::read(Index offset, std::span<std::uint8_t> out) const {
  const State& s = *state_;
  if (offset < 0 || std::ssize(out) > size() - offset)
    cannot_read(s.name, "it ends too early", "the file is cut off: make it again");
  if (s.file == nullptr) {
    std::copy_n(s.bytes.begin() + offset, out.size(), out.begin());
    return;
  }
  while (!out.empty()) {
    const ssize_t count = ::pread(s.file->fd(), out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(s.name, errno);
    if (count == 0) break;
    offset += count;
    out = out.subspan(static_cast<std::size_t>(count));
  }
  const State::Version now = s.version_now();
  if (!out.empty() || now != s.opened)
    cannot_read(s.name,
                now.size < s.opened.size ? "it became shorter while it was read"
                                         : "it changed while it was read",
                "wait until the program that writes it has ended, then run again");
}

Bytes InputFile::first(Index most) const {
  Bytes bytes(static_cast<std::size_t>(std::min(most, size())));
  read(0, bytes);
  return bytes;
}

FileView FileView::open(const Path& path, Index most) {
  return of(*InputFile::open(path), most);
}

FileView FileView::of(const InputFile& file, Index most) {
  if (file.size() > most) {
    throw Error(ErrorKind::cannot_read, fmt::format("{}: {} bytes, at most {} are read",
                                                    file.name(), file.size(), most));
  }
  FileView view;
  view.size_ = static_cast<std::size_t>(file.size());
  try {
    view.bytes_ = std::make_unique_for_overwrite<std::uint8_t[]>(view.size_);
  } catch (const std::bad_alloc&) {
    cannot_read(file.name(),
                fmt::format("its {} bytes do not fit into the memory", view.size_),
                "use a machine with more memory, or a smaller file");
  }
  file.read(0, {view.bytes_.get(), view.size_});
  return view;
}

std::string_view FileView::text() const {
  return {reinterpret_cast<const char*>(bytes_.get()), size_};
}

void serve_pipes(const Path& folder) {
  const std::lock_guard lock(pipes().mutex);
  pipes().folder = folder;
}

}  // namespace fmd
