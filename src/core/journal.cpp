#include "core/journal.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "core/beside.h"
#include "fmd/core/bytes.h"
#include "fmd/core/file.h"

namespace fs = std::filesystem;

namespace fmd::internal::journal {
namespace {

constexpr std::string_view kMagic = "fmd-journal 1";
constexpr std::chrono::milliseconds kPause{20}, kPatience{10'000};

struct Journal {
  Path out;
  std::vector<Path> targets;  // in the order of renames
};

// Files are listed by name alone, so that the folder may be moved.
Bytes to_bytes(const Journal& journal) {
  ByteWriter out;
  out.put_text(kMagic);
  out.put_text(journal.out.filename().string());
  out.put(static_cast<std::uint64_t>(journal.targets.size()));
  for (const Path& target : journal.targets) out.put_text(target.filename().string());
  return out.take();
}

// A journal that somebody planted must not reach a file of another folder.
Path file_beside(const Path& journal, const std::string& name) {
  if (!is_plain_name(name)) throw Error(ErrorKind::bad_model, "a path, not a name");
  return journal.parent_path() / name;
}

Journal read_journal(const Path& path) {
  try {
    const FileView view = FileView::open(path);
    ByteReader in(view.bytes(), path.string());
    if (in.get_text() != kMagic) throw Error(ErrorKind::bad_model, "another file");
    Journal journal{.out = file_beside(path, in.get_text()), .targets = {}};
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i)
      journal.targets.push_back(file_beside(path, in.get_text()));
    return journal;
  } catch (const Error&) {
    throw Error(ErrorKind::cannot_write,
                fmt::format("{} is not a journal of fmd, or it is damaged", path.string()),
                "if no run was interrupted here, move it away and run again");
  }
}

disk::File write_journal(const Path& target, const Journal& journal) {
  const Path path = journal_of(target);
  const Path temporary = temporary_of(path);
  disk::File file = claim_temporary(path);
  try {
    disk::write(file, temporary, to_bytes(journal));
    disk::sync(file, temporary);
    disk::rename(temporary, path);
  } catch (...) {
    try {
      disk::remove(temporary);
    } catch (...) {  // the first error counts
    }
    throw;
  }
  return file;
}

// Removes the note beside a side file if it is a dead run's and leads to this OUT.
void remove_note(const Path& target, const Path& out) {
  const Path path = journal_of(target);
  const disk::File file = disk::open_existing(path);
  if (!file.is_open() || !disk::lock(file, false) || !disk::is_at(file, path)) return;
  if (read_journal(path).out == out) disk::remove(path);
}

// The first file's note is removed last: a repeated run looks at it first, and it leads to
// all others, also when this is stopped in the middle. The caller removes the note at
// `but`.
void remove_notes(const Journal& journal, const Path& but) {
  const auto& targets = journal.targets;
  for (auto target = targets.rbegin(); target != targets.rend(); ++target)
    if (*target != journal.out && *target != but) remove_note(*target, journal.out);
}

// Steps 3 and 4. `notes` are the locks on our own notes, released when the list is gone.
void finish(const Journal& journal, std::vector<disk::File> notes) {
  for (const Path& target : journal.targets) {
    const Path temporary = temporary_of(target);
    if (fs::exists(fs::symlink_status(temporary))) disk::rename(temporary, target);
  }
  disk::sync_folder(journal.out.parent_path());
  disk::remove(journal_of(journal.out));
  try {
    disk::sync_folder(journal.out.parent_path());
    notes.clear();
    remove_notes(journal, {});
  } catch (const Error&) {  // the set is in place; a note without a list does no harm
  }
}

// The journal beside this target, locked; not open when there is none. A living run holds
// its journal for the moment of a few renames.
disk::File lock_journal(const Path& target) {
  const Path path = journal_of(target);
  for (int tries = 0; tries * kPause < kPatience; ++tries) {
    disk::File file = disk::open_existing(path);
    if (!file.is_open()) return file;
    if (!disk::is_regular(file)) {
      throw Error(ErrorKind::cannot_write,
                  fmt::format("{} is not a regular file", path.string()),
                  "no run of fmd made it: move it away and run again");
    }
    if (disk::lock(file, false)) {
      if (disk::is_at(file, path)) return file;
      continue;  // its run ended while we waited
    }
    std::this_thread::sleep_for(kPause);
  }
  throw Error(ErrorKind::cannot_write,
              fmt::format("{} has been locked for 10 seconds", path.string()),
              "another program holds it: end that program and run again");
}

void finish_list(const Path& out) {
  const disk::File list = lock_journal(out);
  if (!list.is_open()) return;
  const Journal journal = read_journal(journal_of(out));
  if (journal.out == out) finish(journal, {});
}

}  // namespace

Path resolve(const Path& target) {
  std::error_code ignored;
  Path path = target;
  if (fs::is_symlink(target, ignored)) {
    path = fs::canonical(target, ignored);
    if (path.empty()) {
      throw Error(ErrorKind::cannot_write,
                  fmt::format("cannot write {}: it is a link to a file that does not exist",
                              target.string()),
                  "remove the link or name another file");
    }
  }
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  if (!path.has_filename() || fs::is_directory(path, ignored)) {
    throw Error(ErrorKind::cannot_write,
                fmt::format("cannot write {}: it is a folder", target.string()),
                "name a file in it");
  }
  if (!fs::is_directory(folder, ignored)) {
    const bool other = fs::exists(folder, ignored);
    throw Error(ErrorKind::cannot_write,
                fmt::format("cannot write {}: {} {}", target.string(), folder.string(),
                            other ? "is not a folder" : "does not exist"),
                other ? "name a file in a folder" : "make the folder first");
  }
  const Path real = fs::canonical(folder, ignored);
  return (real.empty() ? folder : real) / path.filename();
}

Path resolve_folder(const Path& target) {
  std::error_code ignored;
  const Path path = target.has_filename() ? target : target.parent_path();
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  const Path real = fs::canonical(folder, ignored);
  return (real.empty() ? folder : real) / path.filename();
}

Path temporary_of(const Path& target) {
  return target.parent_path() / ("." + target.filename().string() + disk::kTemporary);
}

Path journal_of(const Path& target) { return target.string() + disk::kJournal; }

void remove_if_dead(const Path& temporary) {
  const disk::File file = disk::open_existing(temporary);
  if (file.is_open() && disk::lock(file, false) && disk::is_at(file, temporary))
    disk::remove(temporary);
}

void finish_pending(const Path& target) {
  remove_if_dead(temporary_of(journal_of(target)));  // killed while writing the journal
  const disk::File found = lock_journal(target);
  if (!found.is_open()) return;
  const Journal journal = read_journal(journal_of(target));
  if (journal.out == target) {
    finish(journal, {});
    return;
  }
  // A note: without its list the run was killed before step 2, or the set is finished.
  finish_list(journal.out);
  try {
    remove_notes(journal, target);  // nobody may ever look at the other files
  } catch (const Error&) {          // their notes must not hinder this file
  }
  if (disk::is_at(found, journal_of(target))) disk::remove(journal_of(target));
}

disk::File claim_temporary(const Path& target, bool folder) {
  const Path path = temporary_of(target);
  for (;;) {
    disk::File file = folder ? disk::create_folder(path) : disk::create(path);
    if (file.is_open()) {
      // Between these two calls another run may take it for a dead run's and remove it.
      static_cast<void>(disk::lock(file, true));
      if (disk::is_at(file, path)) return file;
      continue;
    }
    const disk::File old = disk::open_existing(path);
    if (!old.is_open()) continue;
    if (!disk::lock(old, false)) {
      throw Error(
          ErrorKind::cannot_write,
          fmt::format("cannot write {}: another run is writing it", target.string()),
          "wait for that run to end or choose another name");
    }
    if (disk::is_at(old, path)) disk::remove(path);
  }
}

void commit(const std::vector<Path>& targets, bool& valid) {
  const Journal journal{.out = targets.back(), .targets = targets};
  std::vector<disk::File> notes;
  try {
    for (const Path& target : targets)
      if (target != journal.out) notes.push_back(write_journal(target, journal));
    // Temporaries and notes last before the list does.
    disk::sync_folder(journal.out.parent_path());
    const disk::File list = write_journal(journal.out, journal);
    valid = true;
    disk::sync_folder(journal.out.parent_path());
    finish(journal, std::move(notes));
  } catch (...) {
    notes.clear();
    for (const Path& target : targets) {
      try {
        if (!valid && target != journal.out) remove_note(target, journal.out);
      } catch (...) {  // the first error counts; a note without a list does no harm
      }
    }
    throw;
  }
}

}  // namespace fmd::internal::journal
