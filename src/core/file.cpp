#include "fmd/core/file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/disk.h"
#include "fmd/core/types.h"

namespace fmd {

struct FileView::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (mapped != nullptr) ::munmap(mapped, size);
  }

  void* mapped = nullptr;
  std::size_t size = 0;
  Bytes read;  // where it could not be mapped
};

namespace {

[[noreturn]] void cannot_read(const std::filesystem::path& path, const std::string& reason,
                              const char* hint) {
  throw Error(ErrorKind::cannot_read,
              fmt::format("cannot read {}: {}", path.string(), reason), hint);
}

[[noreturn]] void cannot_read(const std::filesystem::path& path, int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      cannot_read(path, "there is no such file", "check the path");
    case EACCES:
    case EPERM:
      cannot_read(path, "no permission", "give yourself permission to read it");
    default:
      cannot_read(path, disk::reason(code), "");
  }
}

Bytes read_all(int fd, const std::filesystem::path& path) {
  Bytes bytes(std::size_t{1} << 16);
  std::size_t size = 0;
  for (;;) {
    if (size == bytes.size()) bytes.resize(2 * size);
    const ssize_t count = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(path, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

FileView::FileView() : state_(std::make_unique<State>()) {}
FileView::FileView(FileView&&) noexcept = default;
FileView& FileView::operator=(FileView&&) noexcept = default;
FileView::~FileView() = default;

FileView FileView::open(const std::filesystem::path& path) {
  const disk::File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) cannot_read(path, errno);
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) cannot_read(path, errno);
  if (S_ISDIR(info.st_mode)) cannot_read(path, "it is a folder", "name a file");

  FileView view;
  auto& state = *view.state_;
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
    if (mapped != MAP_FAILED) {
      state.mapped = mapped;
      state.size = size;
      return view;
    }
  }
  // Pipes, devices, and files of /proc that are larger than they say.
  state.read = read_all(file.fd(), path);
  return view;
}

std::span<const std::uint8_t> FileView::bytes() const {
  if (state_->mapped != nullptr)
    return {static_cast<const std::uint8_t*>(state_->mapped), state_->size};
  return state_->read;
}

void FileView::forget(std::size_t first, std::size_t last) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  first = (first + page - 1) / page * page;
  last = last / page * page;
  if (state_->mapped == nullptr || first >= last) return;
  ::madvise(static_cast<char*>(state_->mapped) + first, last - first, MADV_DONTNEED);
}

std::string_view FileView::text() const {
  const auto all = bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

}  // namespace fmd
