#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/disk.h"
#include "fmd/core/output_files.h"
#include "support/folder.h"

// Runs that are killed before any chosen change of the disk, on a set of three files.
namespace fmd::test {

using Contents = std::map<std::string, std::string>;

inline Contents contents(const Folder& folder) {
  Contents found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file())
      found[std::filesystem::relative(entry.path(), folder.path()).string()] =
          read_text(entry.path());
  return found;
}

// Stops all changes of the disk from a given call on, as a kill does: the calls before it
// have happened, and nothing that the dying code tries afterwards has any effect.
class Killer {
 public:
  struct Killed {};

  explicit Killer(int calls) {
    disk::set_hook([this, calls](const char*) {
      if (made_ >= calls) throw Killed();
      ++made_;
    });
  }
  ~Killer() { disk::set_hook(nullptr); }
  Killer(const Killer&) = delete;
  Killer& operator=(const Killer&) = delete;

  [[nodiscard]] int made() const { return made_; }

 private:
  int made_ = 0;
};

// Calls run() and kills it before its call number `calls`; false when it came to its end.
template <typename Run>
bool killed(int calls, const Run& run) {
  const Killer killer(calls);
  try {
    run();
  } catch (const Killer::Killed&) {
    return true;
  }
  return false;
}

inline void write_set(const Folder& folder, const std::string& version, bool force) {
  OutputFiles files({.force = force});
  for (const char* name : {"model.receipt", "model.undo", "model"})
    files.reserve(folder / name);
  files.write(folder / "model.receipt", "receipt " + version);
  files.write(folder / "model.undo", "undo " + version);
  files.write(folder / "model", "model " + version);
  files.commit();
}

inline Contents whole_set(const std::string& version) {
  return {{"model", "model " + version},
          {"model.receipt", "receipt " + version},
          {"model.undo", "undo " + version}};
}

}  // namespace fmd::test
