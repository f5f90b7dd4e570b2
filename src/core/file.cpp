#include "fmd/core/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <sys/mman.h>
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

namespace {

constexpr Index kInMemory = Index{64} << 20;
constexpr Index kPiece = Index{1} << 22;
constexpr Index kCopied = Index{1} << 18;  // stays in the cache from reading to writing

// A copy without a name in the file's folder or in /tmp; not open where there is no room.
disk::File copy_of(const InputFile& file) {
  for (const Path& folder : {Path(file.name()).parent_path(), Path("/tmp")}) {
    try {
      disk::File copy = disk::create_private(folder.empty() ? "." : folder);
      Bytes piece;
      for (Index at = 0; at < file.size(); at += std::ssize(piece)) {
        piece.resize(static_cast<std::size_t>(std::min(kCopied, file.size() - at)));
        file.read(at, piece);
        disk::write(copy, folder / "copy of a large file", piece);
      }
      return copy;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cannot_write) throw;
    }
  }
  return {};
}

}  // namespace

struct FileView::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (mapped != nullptr) ::munmap(mapped, size);
  }

  bool own = false;  // pages may differ from the copy: they must stay
  std::size_t size = 0;
  disk::File copy;
  void* mapped = nullptr;
  std::unique_ptr<std::uint8_t[]> read;  // where nothing is mapped

  void map(const InputFile& file) {
    copy = copy_of(file);
    if (!copy.is_open()) return;
    const int rights = own ? PROT_READ | PROT_WRITE : PROT_READ;
    void* place = ::mmap(nullptr, size, rights, MAP_PRIVATE | (own ? MAP_NORESERVE : 0),
                         copy.fd(), 0);
    if (place != MAP_FAILED) mapped = place;
  }

  void fill(const InputFile& file) {
    size = static_cast<std::size_t>(file.size());
    if (file.size() > kInMemory) map(file);
    if (mapped != nullptr) return;
    try {
      read = std::make_unique_for_overwrite<std::uint8_t[]>(size);
    } catch (const std::bad_alloc&) {
      cannot_read(file.name(), fmt::format("its {} bytes do not fit into the memory", size),
                  "use a machine with more memory, or a smaller file");
    }
    file.read(0, {read.get(), size});
  }
};

FileView::FileView() : state_(std::make_unique<State>()) {}
FileView::FileView(FileView&&) noexcept = default;
FileView& FileView::operator=(FileView&&) noexcept = default;
FileView::~FileView() = default;

FileView FileView::of(const InputFile& file, Index most) {
  if (file.size() > most) {
    throw Error(ErrorKind::cannot_read, fmt::format("{}: {} bytes, at most {} are read",
                                                    file.name(), file.size(), most));
  }
  FileView view;
  view.state_->fill(file);
  return view;
}

FileView FileView::open_private(const Path& path) {
  FileView view;
  view.state_->own = true;
  view.state_->fill(*InputFile::open(path));
  return view;
}

std::span<const std::uint8_t> FileView::bytes() const {
  const auto* mapped = static_cast<const std::uint8_t*>(state_->mapped);
  return {mapped == nullptr ? state_->read.get() : mapped, state_->size};
}

std::span<std::uint8_t> FileView::own_bytes() {
  if (!state_->own) return {};  // others see these bytes
  auto* mapped = static_cast<std::uint8_t*>(state_->mapped);
  return {mapped == nullptr ? state_->read.get() : mapped, state_->size};
}

int FileView::descriptor() const {
  return state_->own || state_->mapped == nullptr ? -1 : state_->copy.fd();
}

void FileView::forget(std::size_t first, std::size_t last) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  first = (first + page - 1) / page * page;
  last = last / page * page;
  if (state_->mapped == nullptr || state_->own || first >= last) return;
  ::madvise(static_cast<char*>(state_->mapped) + first, last - first, MADV_DONTNEED);
}

Hash sha256(const FileView& file) {
  const auto bytes = file.bytes();
  Sha256 hash;
  for (std::size_t at = 0; at < bytes.size(); at += std::size_t{kPiece}) {
    const std::size_t size = std::min(std::size_t{kPiece}, bytes.size() - at);
    hash.add(bytes.subspan(at, size));
    file.forget(at, at + size);
  }
  return hash.finish();
}

std::string_view FileView::text() const {
  return {reinterpret_cast<const char*>(bytes().data()), bytes().size()};
}

void serve_pipes(const Path& folder) {
  const std::lock_guard lock(pipes().mutex);
  pipes().folder = folder;
}

}  // namespace fmd
