#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "fmd/core/hash.h"

namespace fmd {

// A file's bytes, mapped where possible (pipes and /dev/stdin are read into memory).
// Nobody may shorten a mapped file while it is in use.
// Throws Error(cannot_read) that names the path and the reason (absent, a folder, no
// permission).
class FileView {
 public:
  [[nodiscard]] static FileView open(const std::filesystem::path& path);
  // The same as a copy of one's own: changes of own_bytes() reach nobody else and cost the
  // memory of the pages that they touch.
  [[nodiscard]] static FileView open_private(const std::filesystem::path& path);
  FileView(FileView&&) noexcept;
  FileView& operator=(FileView&&) noexcept;
  ~FileView();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const;
  [[nodiscard]] std::span<std::uint8_t> own_bytes();  // of open_private() only
  [[nodiscard]] std::string_view text() const;
  // The open file, for copying in the kernel; -1 where the bytes are in memory.
  [[nodiscard]] int descriptor() const;
  // Bytes [first, last) are not needed for now: a mapped file gives their memory back. It
  // reads them again when they are looked at.
  void forget(std::size_t first, std::size_t last) const;

 private:
  FileView();
  static FileView map(const std::filesystem::path& path, bool own);
  struct State;
  std::unique_ptr<State> state_;
};

// Of a whole file, read piece by piece: a mapped file gives the memory back.
[[nodiscard]] Hash sha256(const FileView& file);

}  // namespace fmd
