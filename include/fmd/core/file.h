#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "fmd/core/hash.h"
#include "fmd/core/types.h"

namespace fmd {

// A file that is read piece by piece, by any number of threads. Nothing is mapped: a file
// that somebody shortens or changes while it is read is an error, not a signal. Pipes, and
// other files without a size, are copied first, to a file of our own that has no name.
class InputFile {
 public:
  // Throws Error(cannot_read) that names the path and the reason (absent, a folder, a
  // device, no permission).
  [[nodiscard]] static std::shared_ptr<const InputFile> open(
      const std::filesystem::path& path);
  // Bytes that the caller keeps, under the name of a file.
  [[nodiscard]] static std::shared_ptr<const InputFile> in_memory(
      std::span<const std::uint8_t> bytes, std::string name);
  ~InputFile();

  [[nodiscard]] const std::string& name() const;  // the path as given
  [[nodiscard]] Index size() const;
  // Fills `out` with the bytes from `offset` on, which must be there. Throws
  // Error(cannot_read) when the file is no longer the one that was opened: its size or the
  // time of its last change is another one.
  void read(Index offset, std::span<std::uint8_t> out) const;
  [[nodiscard]] Bytes first(Index most) const;  // the first bytes, all when there are fewer

 private:
  InputFile();
  struct State;
  std::unique_ptr<State> state_;
};

// A file's bytes, all at once, where nobody else can change them. Up to 64 MB are read into
// memory. A larger file is copied to a file of our own that has no name, and that is
// mapped. Throws what InputFile throws, and Error(cannot_read) for a file of more than
// `most` bytes, before it takes their room.
class FileView {
 public:
  [[nodiscard]] static FileView open(const std::filesystem::path& path,
                                     Index most = std::numeric_limits<Index>::max());
  [[nodiscard]] static FileView of(const InputFile& file,
                                   Index most = std::numeric_limits<Index>::max());
  // The same with bytes that may be changed: see own_bytes().
  [[nodiscard]] static FileView open_private(const std::filesystem::path& path);
  FileView(FileView&&) noexcept;
  FileView& operator=(FileView&&) noexcept;
  ~FileView();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const;
  // Changes cost the memory of the pages that they touch. Empty unless open_private().
  [[nodiscard]] std::span<std::uint8_t> own_bytes();
  [[nodiscard]] std::string_view text() const;
  // The open copy, for copying in the kernel; -1 where the bytes are in memory.
  [[nodiscard]] int descriptor() const;
  // Bytes [first, last) are not needed for now: a mapped copy gives their memory back. It
  // reads them again when they are looked at.
  void forget(std::size_t first, std::size_t last) const;

 private:
  FileView();
  struct State;
  std::unique_ptr<State> state_;
};

// Of a whole file, read piece by piece: a mapped copy gives the memory back.
[[nodiscard]] Hash sha256(const FileView& file);

// For a command that is given names by a user, before it opens any: "-" then means stdin,
// and a pipe that is opened again gives the same bytes again. `folder` is where copies of
// pipes take room.
void serve_pipes(const std::filesystem::path& folder);

}  // namespace fmd
