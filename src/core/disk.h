#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <sys/types.h>
#include <utility>

#include "core/internal.h"
#include "fmd/core/error.h"
#include "fmd/core/types.h"

// Every system call by which the library changes the disk, in one place, so that tests can
// stop a run before any of them. All throw Error(cannot_write) with the path and the
// system's reason.
namespace fmd::internal::disk {

// Called with the name of each system call before it is made. If it throws, the call is not
// made and the exception goes to the caller; a std::system_error becomes the Error of a
// call that failed with its code. For tests only; none by default.
using Hook = std::function<void(const char* call)>;
void set_hook(Hook hook);

// An open file. The destructor closes it. A lock on it ends with it, also after a kill.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

using Path = std::filesystem::path;

// The endings of temporary files (".<name>.fmd-tmp") and journals ("<name>.fmd-journal").
inline const std::string kTemporary = ".fmd-tmp";
inline const std::string kJournal = ".fmd-journal";

// A new, empty file; not open when there is one already.
[[nodiscard]] File create(const Path& path);
// The same for a folder; it is open for locking.
[[nodiscard]] File create_folder(const Path& path);
// A new, empty file in this folder that only this process can reach: without a name, mode
// 0600. It is gone when it is closed, also after a kill.
[[nodiscard]] File create_private(const Path& folder);
void write(const File& file, const Path& path, std::span<const std::uint8_t> bytes);
void write_at(const File& file, const Path& path, Index offset,
              std::span<const std::uint8_t> bytes);
// Writes `length` bytes of an open file, from `offset` on, at the end; in the kernel where
// it can.
void copy(const File& file, const Path& path, int from, Index offset, Index length);
void empty(const File& file, const Path& path);
// Takes away what stands behind `size`. No hook: it is what is done after a failure.
void shorten(const File& file, const Path& path, Index size);
void set_mode(const File& file, const Path& path, mode_t mode);
void sync(const File& file, const Path& path);
void sync_folder(const Path& folder);
void rename(const Path& from, const Path& to);
// No error when it is gone already. A temporary folder goes with the files in it.
void remove(const Path& path);
// A folder that has files stays. No error when it is gone already.
void remove_empty_folder(const Path& path);

// Files to remove when the process is interrupted: a list that a signal handler may walk.
// remove_remembered() is async-signal-safe. The next run removes the files that do not fit
// on the list (64 files, paths of 4095 bytes).
void remember(const Path& path);
void forget(const Path& path);
void remove_remembered() noexcept;

// Lives from before a file is made until it is remembered: a handler on another thread
// waits for the end. This thread must hold its own signals back (HoldSignals).
class Creating {
 public:
  Creating();
  ~Creating();
  Creating(const Creating&) = delete;
  Creating& operator=(const Creating&) = delete;
};

// These change nothing, but the changes need them.
[[nodiscard]] File open_existing(const Path& path);  // for locking; not open when absent
[[nodiscard]] bool lock(const File& file,
                        bool wait);  // false: another holder, and wait is off
// Throws Error(cannot_write) with the system's reason when the file cannot be written.
void require_writable(const Path& path);
[[nodiscard]] bool is_regular(const File& file);
[[nodiscard]] bool is_at(const File& file,
                         const Path& path);  // the path still names this file

[[nodiscard]] std::string reason(int code);  // "No space left on device"
[[noreturn]] void fail(const Path& path, int code);

}  // namespace fmd::internal::disk
