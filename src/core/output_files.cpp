#include "fmd/core/output_files.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <vector>

#include <fmt/format.h>

#include "core/disk.h"
#include "core/journal.h"
#include "core/signals.h"
#include "fmd/core/file.h"

namespace fs = std::filesystem;

namespace fmd {
namespace {

using disk::Path;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void remove_quietly(const Path& path) {
  try {
    disk::remove(path);
  } catch (...) {  // another error is already being thrown, or nobody can hear of it
  }
}

void check_free(const Path& target, bool force, bool folder) {
  std::error_code absent;
  const fs::file_status status = fs::status(target, absent);
  if (!fs::exists(status)) return;
  if (folder) {
    throw Error(ErrorKind::output_exists, fmt::format("{} exists already", target.string()),
                "a folder is never replaced: choose another name, or remove it first");
  }
  if (!fs::is_regular_file(status)) {
    throw Error(
        ErrorKind::cannot_write,
        fmt::format("cannot write {}: it is {}", target.string(),
                    fs::is_directory(status) ? "a folder" : "a device, pipe or socket"),
        "name an ordinary file");
  }
  if (!force) {
    throw Error(ErrorKind::output_exists, fmt::format("{} exists already", target.string()),
                "choose another name, or replace it with --force");
  }
}

// A rename cannot be taken back: the error must say that the file is there.
void sync_renamed(const Path& out) {
  try {
    disk::sync_folder(out.parent_path());
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(),
                fmt::format("{} is complete and in place, but a power cut now may lose it",
                            out.string()));
  }
}

// Removes what dead runs left of OUT and of files whose names begin with it.
void sweep(const Path& out) {
  const std::string name = out.filename().string() + ".";
  std::vector<Path> targets, temporaries;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(out.parent_path(), unreadable)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(name) && file.ends_with(disk::kJournal))
      targets.push_back(out.parent_path() /
                        file.substr(0, file.size() - disk::kJournal.size()));
    if (file.starts_with("." + name) && file.ends_with(disk::kTemporary))
      temporaries.push_back(entry.path());
  }
  for (const Path& target : targets) journal::finish_pending(target);
  for (const Path& path : temporaries) {
    try {
      journal::remove_if_dead(path);
    } catch (const Error&) {  // a reader without the right to write: it does no harm
    }
  }
}

}  // namespace

struct OutputFiles::State {
  struct Output {
    Path target;      // resolved
    disk::File file;  // the temporary, open and locked
    bool written = false;
    bool synced = true;
    bool folder = false;
    std::vector<Output> inside = {};  // files of a folder: their target is a plain name
    bool nameless = false;            // never put in place
  };

  Options options;
  std::vector<Output> outputs;  // in the order in which they were first named
  bool valid = false;           // the journal stands: temporaries belong to it

  std::vector<Output>::iterator find(const Path& resolved) {
    return std::find_if(outputs.begin(), outputs.end(),
                        [&](const Output& o) { return o.target == resolved; });
  }

  // The folder that a target is a file of; null: of none.
  Output* folder_of(const Path& target) {
    if (!target.has_parent_path()) return nullptr;
    const Path parent = journal::resolve_folder(target.parent_path());
    const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const Output& o) {
      return o.folder && o.target == parent;
    });
    return found == outputs.end() ? nullptr : &*found;
  }

  // What was private stays private.
  static void keep_mode(const Output& output) {
    struct stat old {};
    if (::stat(output.target.c_str(), &old) == 0)
      disk::set_mode(output.file, journal::temporary_of(output.target), old.st_mode & 0777);
  }

  [[nodiscard]] bool is_standard(const Path& target) const {
    return options.standard && target == "-";
  }

  // Hands on what was written to "-".
  void pass_on(const Output& output) const {
    const auto file = InputFile::open(fmt::format("/proc/self/fd/{}", output.file.fd()));
    Bytes piece;
    for (Index at = 0; at < file->size(); at += std::ssize(piece)) {
      piece.resize(static_cast<std::size_t>(std::min(file->size() - at, Index{1} << 16)));
      file->read(at, piece);
      options.standard({reinterpret_cast<const char*>(piece.data()), piece.size()});
    }
  }

  Output& claim_nameless(const Path& resolved, const Path& folder) {
    outputs.push_back({.target = resolved,
                       .file = disk::create_private(folder),
                       .written = false,
                       .synced = true,
                       .nameless = true});
    return outputs.back();
  }

  void claim(const Path& target, bool folder = false) {
    const Path resolved =
        folder ? journal::resolve_folder(target) : journal::resolve(target);
    if (const auto known = find(resolved); known != outputs.end()) {
      if (known->folder == folder) return;
      give_up(*known);
      outputs.erase(known);
    }
    if (is_standard(target)) return void(claim_nameless(resolved, "/tmp"));
    journal::finish_pending(resolved);
    check_free(resolved, options.force, folder);
    const HoldSignals hold;  // a file that is there is remembered
    const disk::Creating creating;
    outputs.push_back({.target = resolved,
                       .file = journal::claim_temporary(resolved, folder),
                       .written = false,
                       .folder = folder});
    disk::remember(journal::temporary_of(resolved));
    if (!folder) keep_mode(outputs.back());
  }

  static std::vector<Output>::iterator claim_inside(Output& folder, const Path& name) {
    const auto known = std::find_if(folder.inside.begin(), folder.inside.end(),
                                    [&](const Output& o) { return o.target == name; });
    if (known != folder.inside.end()) return known;
    const Path path = journal::temporary_of(folder.target) / name;
    const HoldSignals hold;
    const disk::Creating creating;
    disk::File file = disk::create(path);
    if (!file.is_open()) disk::fail(path, EEXIST);
    disk::remember(path);
    folder.inside.push_back({.target = name, .file = std::move(file), .written = false});
    return folder.inside.end() - 1;
  }

  // Runs a write on the target's temporary file; when it fails, the target is given up.
  template <typename Body>
  void change(const Path& target, const Body& body) {
    Output* folder = folder_of(target);
    if (folder == nullptr) claim(target);
    const auto claimed = folder == nullptr ? find(journal::resolve(target))
                                           : claim_inside(*folder, target.filename());
    const Path path = folder == nullptr
                          ? journal::temporary_of(claimed->target)
                          : journal::temporary_of(folder->target) / claimed->target;
    try {
      body(*claimed, path);
      claimed->written = true;
      if (folder != nullptr) folder->written = true, folder->synced = false;
    } catch (...) {
      remove_quietly(path);
      disk::forget(path);
      (folder == nullptr ? outputs : folder->inside).erase(claimed);
      throw;
    }
  }

  static void forget(const Output& output) {
    const Path path = journal::temporary_of(output.target);
    for (const Output& file : output.inside) disk::forget(path / file.target);
    disk::forget(path);
  }

  static void give_up(const Output& output) {
    remove_quietly(journal::temporary_of(output.target));
    forget(output);
  }

  void sync_all() {
    for (Output& output : outputs) {
      const Path path = journal::temporary_of(output.target);
      for (Output& file : output.inside)
        if (!file.synced) disk::sync(file.file, path / file.target);
      if (!output.synced && output.folder) disk::sync_folder(path);
      if (!output.synced && !output.folder) disk::sync(output.file, path);
      output.synced = true;
    }
  }

  // The last look before the renames: others may have been here since reserve().
  void check_all() {
    for (const Output& output : outputs) {
      check_free(output.target, options.force, output.folder);
      if (disk::is_at(output.file, journal::temporary_of(output.target))) continue;
      throw Error(
          ErrorKind::cannot_write,
          fmt::format("cannot write {}: its temporary file was removed",
                      output.target.string()),
          "make sure that no other program removes files in this folder, then run again");
    }
  }

  // Files of other folders than OUT's come first, each whole but for itself: a journal
  // names files of its own folder alone.
  void rename_elsewhere(const Path& folder) {
    for (auto output = outputs.begin(); output != outputs.end();) {
      const Path target = output->target;
      if (target.parent_path() == folder) {
        ++output;
        continue;
      }
      disk::rename(journal::temporary_of(target), target);
      forget(*output);
      output = outputs.erase(output);
      sync_renamed(target);
    }
  }

  void drop_all() {
    for (const Output& output : outputs) {
      const Path path = journal::temporary_of(output.target);
      if (!valid && disk::is_at(output.file, path)) remove_quietly(path);
      forget(output);
    }
    outputs.clear();
  }
};

OutputFiles::OutputFiles(Options options) : state_(std::make_unique<State>()) {
  state_->options = options;
}

OutputFiles::~OutputFiles() { state_->drop_all(); }

void OutputFiles::reserve(const Path& target) { state_->claim(target); }

void OutputFiles::reserve_folder(const Path& target) { state_->claim(target, true); }

void OutputFiles::reserve_nameless(const Path& target) {
  const Path resolved = journal::resolve(target);
  state_->claim_nameless(resolved, resolved.parent_path());
}

void OutputFiles::write(const Path& target, std::span<const std::uint8_t> bytes) {
  state_->change(target, [&](State::Output& output, const Path& path) {
    if (output.written) disk::empty(output.file, path);
    disk::write(output.file, path, bytes);
    disk::sync(output.file, path);
    output.synced = true;
  });
}

void OutputFiles::write(const Path& target, std::string_view text) {
  write(target, bytes_of(text));
}

void OutputFiles::append(const Path& target, std::string_view text) {
  append(target, bytes_of(text));
}

void OutputFiles::append(const Path& target, std::span<const std::uint8_t> bytes) {
  state_->change(target, [&](State::Output& output, const Path& path) {
    output.synced = false;
    disk::write(output.file, path, bytes);
  });
}

void OutputFiles::append(const Path& target, const FileView& from, std::size_t first,
                         std::size_t last) {
  if (from.descriptor() < 0) {
    append(target, from.bytes().subspan(first, last - first));
    return;
  }
  state_->change(target, [&](State::Output& output, const Path& path) {
    output.synced = false;
    disk::copy(output.file, path, from.descriptor(), static_cast<Index>(first),
               static_cast<Index>(last - first));
  });
}

void OutputFiles::write_at(const Path& target, Index offset,
                           std::span<const std::uint8_t> bytes) {
  state_->change(target, [&](State::Output& output, const Path& path) {
    output.synced = false;
    disk::write_at(output.file, path, offset, bytes);
  });
}

Path OutputFiles::temporary(const Path& target) const {
  if (const State::Output* folder = state_->folder_of(target))
    return journal::temporary_of(folder->target) / target.filename();
  const Path resolved = journal::resolve(target);
  const auto found = state_->find(resolved);
  if (found == state_->outputs.end()) {
    throw Error(ErrorKind::bad_option,
                fmt::format("output: {} is not reserved or written", target.string()));
  }
  if (found->nameless) return fmt::format("/proc/self/fd/{}", found->file.fd());
  return journal::temporary_of(resolved);
}

void OutputFiles::commit() {
  auto& s = *state_;
  for (const State::Output& output : s.outputs)
    if (output.nameless && s.options.standard && output.target.filename() == "-")
      s.pass_on(output);
  std::erase_if(s.outputs, [](const State::Output& o) { return o.nameless; });
  const auto unused = std::stable_partition(
      s.outputs.begin(), s.outputs.end(), [](const State::Output& o) { return o.written; });
  for (auto it = unused; it != s.outputs.end(); ++it) s.give_up(*it);
  s.outputs.erase(unused, s.outputs.end());
  if (s.outputs.empty()) return;

  s.sync_all();
  s.check_all();
  const Path out = s.outputs.back().target;
  s.rename_elsewhere(out.parent_path());
  std::vector<Path> targets;
  for (const State::Output& output : s.outputs) targets.push_back(output.target);
  if (targets.size() == 1) {
    disk::rename(journal::temporary_of(out), out);
    s.forget(s.outputs.back());
    s.outputs.clear();
    sync_renamed(out);
    return;
  }
  // From here on an interruption is like a kill: the files are complete, and the next run
  // finishes or removes them.
  for (const State::Output& output : s.outputs) s.forget(output);
  try {
    journal::commit(targets, s.valid);
  } catch (const Error& error) {
    if (!s.valid) throw;
    throw Error(error.kind(), error.what(),
                fmt::format("the files are complete and listed in {}: the next run on them "
                            "puts them in place",
                            journal::journal_of(out).string()));
  }
  s.outputs.clear();
  s.valid = false;
}

void remove_unfinished() noexcept { disk::remove_remembered(); }

void recover(const Path& out) {
  std::error_code absent;
  const Path folder = out.has_parent_path() ? out.parent_path() : Path(".");
  if (!out.has_filename() || !fs::is_directory(folder, absent)) return;
  if (fs::is_symlink(out, absent) && !fs::exists(out, absent)) return;
  const Path resolved =
      fs::is_directory(out, absent) ? journal::resolve_folder(out) : journal::resolve(out);
  journal::finish_pending(resolved);
  sweep(resolved);
}

void write_file(const Path& path, std::string_view text, bool force) {
  OutputFiles files({.force = force});
  files.write(path, text);
  files.commit();
}

}  // namespace fmd
