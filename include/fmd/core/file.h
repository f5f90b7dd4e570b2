#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

using Hash = std::array<std::uint8_t, 32>;  // SHA-256

[[nodiscard]] Hash sha256(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::string hex(const Hash& hash);

// A 64-bit hash of a few bytes, for row fingerprints. Same value on every machine.
[[nodiscard]] std::uint64_t hash64(std::span<const std::uint8_t> bytes,
                                   std::uint64_t seed = 0);

// A file's bytes, mapped where possible (pipes and /dev/stdin are read into memory).
// A mapped file must not be shortened by others while it is in use.
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
  // Bytes [first, last) are not needed for now: a mapped file gives their memory back, and
  // reads them again when they are looked at.
  void forget(std::size_t first, std::size_t last) const;

 private:
  FileView();
  struct State;
  std::unique_ptr<State> state_;
};

// Output files that appear together or not at all. Each is written to a temporary name
// beside its target (".<name>.fmd-tmp"), synced, and renamed by commit() in the order in
// which they were first named; the last one is the one that counts (OUT). One file is one
// rename. For several, a journal
// ("<OUT>.fmd-journal", and a note of the same ending beside each other file) makes the
// renames one step: a run that is killed leaves the old files, or the new ones after
// recover(); a new OUT never stands there without its other files.
//
// A target that is a link is written where the link leads; a replaced file keeps its mode.
// Whatever is not committed is removed by the destructor; what a killed run left is
// finished or removed by the next OutputFiles on the same targets, and by recover(). Two
// runs cannot write the same target at the same time: the second gets an error. Throws
// Error(output_exists) when a target exists and force is off, Error(cannot_write) with the
// path and the system's reason; then nothing is left behind, or the hint tells what is.
class OutputFiles {
 public:
  struct Options {
    bool force = false;  // replace targets that exist
  };
  explicit OutputFiles(Options options);
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // Checks that the target can be written and reserves it: call early, before long work.
  void reserve(const std::filesystem::path& target);
  // Writes and syncs the temporary file of a target (reserved or not).
  void write(const std::filesystem::path& target, std::span<const std::uint8_t> bytes);
  void write(const std::filesystem::path& target, std::string_view text);
  // The same piece by piece, for output that is larger than memory: at the end, or at an
  // offset (holes are zeros until they are written). commit() syncs.
  void append(const std::filesystem::path& target, std::string_view text);
  void write_at(const std::filesystem::path& target, Index offset,
                std::span<const std::uint8_t> bytes);
  // Where the bytes of a written, not yet committed target are: for measuring the re-read
  // file.
  [[nodiscard]] std::filesystem::path temporary(const std::filesystem::path& target) const;
  void commit();  // renames in the order in which targets were first named

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Completes or takes back what a killed run left around this OUT (or one of its side
// files): call it before reading a file that may have been replaced. Finishes a journal,
// waiting for a run that is just committing; removes temporary files of dead runs for OUT
// and for names that begin with "<OUT>.". Without anything to do it costs one listing of
// the folder. Throws Error(cannot_write) when there is a journal and the files cannot be
// renamed.
void recover(const std::filesystem::path& out);

// Removes the temporary files of all OutputFiles that are not yet being committed, for a
// signal handler that ends the process: async-signal-safe.
void remove_unfinished() noexcept;

// One file, atomically: reserve, write, commit.
void write_file(const std::filesystem::path& path, std::string_view text, bool force);

}  // namespace fmd
