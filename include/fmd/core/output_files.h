#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "fmd/core/file.h"
#include "fmd/core/types.h"

namespace fmd {

// Output files that appear together or not at all. Each one is first written under a
// temporary name beside its target (".<name>.fmd-tmp") and synced. commit() renames them
// in the order in which they were first named. The last one is the one that counts (OUT).
// One file is one rename. For several files, a journal ("<OUT>.fmd-journal", and a note
// with the same ending beside each other file) makes the renames one step: a run that is
// killed leaves the old files, or the new ones after recover(). A new OUT is never there
// without its other files.
//
// If a target is a link, the file that it leads to is written. A replaced file keeps its
// mode. The destructor removes what was not committed. The next OutputFiles on the same
// targets finishes or removes the files that a killed run left. So does recover(). Two runs
// cannot write the same target at the same time: the second one gets an error. Throws
// Error(output_exists) when a target exists and force is off, Error(cannot_write) with the
// path and the system's reason. After an error nothing is left behind, or the hint says
// what is left.
class OutputFiles {
 public:
  struct Options {
    bool force = false;  // replace targets that exist
    // Where the target "-" goes when all is committed, in pieces. None: it is a file.
    std::function<void(std::string_view)> standard = {};
  };
  explicit OutputFiles(Options options);
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // Checks that the target can be written and reserves it: call early, before long work.
  void reserve(const std::filesystem::path& target);
  // The same for a target that is a folder of files: afterwards target / name is a file in
  // it. The folder appears whole, by one rename. A folder that exists is never replaced,
  // also not with force. A target that was reserved as a file becomes one.
  void reserve_folder(const std::filesystem::path& target);
  // A target that is never put in place: what is written to it is kept in a file without a
  // name (mode 0600) on the disk of the target, until this object goes. temporary() leads
  // to it. For data on persons that do not fit into memory.
  void reserve_nameless(const std::filesystem::path& target);
  // Writes and syncs the temporary file of a target (reserved or not).
  void write(const std::filesystem::path& target, std::span<const std::uint8_t> bytes);
  void write(const std::filesystem::path& target, std::string_view text);
  // The same piece by piece, for output that is larger than memory: at the end, or at an
  // offset (holes are zeros until they are written). commit() syncs.
  void append(const std::filesystem::path& target, std::string_view text);
  void append(const std::filesystem::path& target, std::span<const std::uint8_t> bytes);
  // Bytes [first, last) of another file at the end. They are copied in the kernel where it
  // can, so that they need no memory.
  void append(const std::filesystem::path& target, const FileView& from, std::size_t first,
              std::size_t last);
  void write_at(const std::filesystem::path& target, Index offset,
                std::span<const std::uint8_t> bytes);
  // Where the bytes of a target are when it is written but not yet committed. The file can
  // be read again there and measured.
  [[nodiscard]] std::filesystem::path temporary(const std::filesystem::path& target) const;
  void commit();  // renames in the order in which targets were first named

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Completes or takes back what a killed run left around this OUT (or one of its side
// files). Call it before reading a file that may have been replaced. It finishes a journal
// (and waits for a run that is committing right now). It removes the temporary files of
// dead runs for OUT and for names that begin with "<OUT>.". When there is nothing to do, it
// costs one listing of the folder. Throws Error(cannot_write) when there is a journal and
// the files cannot be renamed.
void recover(const std::filesystem::path& out);

// Removes the temporary files of all OutputFiles that are not yet being committed, for a
// signal handler that ends the process: async-signal-safe.
void remove_unfinished() noexcept;

// One file, atomically: reserve, write, commit.
void write_file(const std::filesystem::path& path, std::string_view text, bool force);

}  // namespace fmd
