#include "fmd/core/file.h"

#include <algorithm>
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

  disk::File file;
  bool own = false;  // pages may differ from the file: they must stay
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

FileView FileView::open(const std::filesystem::path& path) { return map(path, false); }

FileView FileView::open_private(const std::filesystem::path& path) {
  return map(path, true);
}

FileView FileView::map(const std::filesystem::path& path, bool own) {
  disk::File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) cannot_read(path, errno);
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) cannot_read(path, errno);
  if (S_ISDIR(info.st_mode)) cannot_read(path, "it is a folder", "name a file");

  FileView view;
  auto& state = *view.state_;
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    const int rights = own ? PROT_READ | PROT_WRITE : PROT_READ;
    void* mapped = ::mmap(nullptr, size, rights, MAP_PRIVATE | (own ? MAP_NORESERVE : 0),
                          file.fd(), 0);
    if (mapped != MAP_FAILED) {
      state.file = std::move(file);
      state.own = own;
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

std::span<std::uint8_t> FileView::own_bytes() {
  if (state_->mapped == nullptr) return state_->read;
  if (!state_->own) return {};  // others see these bytes
  return {static_cast<std::uint8_t*>(state_->mapped), state_->size};
}

int FileView::descriptor() const { return state_->own ? -1 : state_->file.fd(); }

void FileView::forget(std::size_t first, std::size_t last) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  first = (first + page - 1) / page * page;
  last = last / page * page;
  if (state_->mapped == nullptr || state_->own || first >= last) return;
  ::madvise(static_cast<char*>(state_->mapped) + first, last - first, MADV_DONTNEED);
}

Hash sha256(const FileView& file) {
  constexpr std::size_t kPiece = std::size_t{1} << 22;
  const auto bytes = file.bytes();
  Sha256 hash;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::size_t size = std::min(kPiece, bytes.size() - at);
    hash.add(bytes.subspan(at, size));
    file.forget(at, at + size);
  }
  return hash.finish();
}

std::string_view FileView::text() const {
  const auto all = bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

}  // namespace fmd
