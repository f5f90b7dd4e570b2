#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

// A file's bytes, all at once, in memory of our own. Throws what InputFile throws, and
// Error(cannot_read) for a file of more than `most` bytes, before it takes their memory.
class FileView {
 public:
  [[nodiscard]] static FileView open(const std::filesystem::path& path,
                                     Index most = std::numeric_limits<Index>::max());
  [[nodiscard]] static FileView of(const InputFile& file,
                                   Index most = std::numeric_limits<Index>::max());

  [[nodiscard]] std::span<const std::uint8_t> bytes() const {
    return {bytes_.get(), size_};
  }
  [[nodiscard]] std::string_view text() const;

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

// For a command that is given names by a user, before it opens any: "-" then means stdin,
// and a pipe that is opened again gives the same bytes again. `folder` is where copies of
// pipes take room.
void serve_pipes(const std::filesystem::path& folder);

}  // namespace fmd
