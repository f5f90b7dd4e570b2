#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace fmd {

// A file's bytes, mapped where possible (pipes and /dev/stdin are read into memory).
// Nobody may shorten a mapped file while it is in use.
// Throws Error(cannot_read) that names the path and the reason (absent, a folder, no
// permission).
class FileView {
 public:
  [[nodiscard]] static FileView open(const std::filesystem::path& path);
  FileView(FileView&&) noexcept;
  FileView& operator=(FileView&&) noexcept;
  ~FileView();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const;
  [[nodiscard]] std::string_view text() const;
  // Bytes [first, last) are not needed for now: a mapped file gives their memory back. It
  // reads them again when they are looked at.
  void forget(std::size_t first, std::size_t last) const;

 private:
  FileView();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fmd
