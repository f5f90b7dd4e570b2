#include "pipeline/receipt_files.h"

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/pipeline/read.h"

namespace fmd::internal {
namespace {

namespace fs = std::filesystem;

std::string sha256_of(const std::string& file) { return hex(sha256(FileView::open(file))); }

// Where a recorded file may be: as recorded, beside the receipt, in the current folder.
std::vector<std::string> places(const Receipt& receipt, const std::string& name) {
  const fs::path folder = receipt.files.receipt.parent_path();
  const fs::path own = fs::path(name).filename();
  std::vector<std::string> found;
  for (const fs::path& path : {fs::path(name), folder / name, folder / own, own}) {
    std::error_code ignored;
    if (!name.empty() && fs::is_regular_file(path, ignored)) found.push_back(path.string());
  }
  return found;
}

void take(FoundFile& found, const std::string& file, const std::string& sum) {
  const std::string name = fs::path(file).filename().string();
  found.file = file;
  found.usable = true;
  if (found.note.sha256.empty()) {
    found.detail = name + ": no sha256 is recorded";
  } else if (sum == found.note.sha256) {
    found.hash = CheckResult::ok;
    found.detail = name + " has the recorded sha256";
  } else {
    found.hash = CheckResult::differs;
    found.detail = name + " is another file: its sha256 is not the recorded one";
  }
}

// A data set by name: reading it compares the sha256 that is on record for it.
void look_by_name(const fs::path& data_folder, FoundFile& found) {
  try {
    (void)read_named(found.note.name, {}, data_folder);
    found.file = found.note.name;
    found.usable = true;
    found.hash = CheckResult::ok;
    found.detail = found.note.name + " has the sha256 that is on record for it";
  } catch (const Error& error) {
    const bool changed = error.kind() == ErrorKind::wrong_checksum;
    found.hash = changed ? CheckResult::differs : CheckResult::unchecked;
    found.detail =
        found.note.name + (changed ? " has changed: its sha256 is not the one on record"
                                   : " is not in the folder of data sets");
  }
}

// By its recorded name; a file of other contents under that name is of no use.
void look(const Receipt& receipt, const VerifyOptions& options, FoundFile& found) {
  if (found.note.name.starts_with("data:")) {
    look_by_name(options.data_folder, found);
    return;
  }
  const std::vector<std::string> files = places(receipt, found.note.name);
  for (const std::string& file : files) {
    const std::string sum = sha256_of(file);
    if (sum != found.note.sha256 && !found.note.sha256.empty()) continue;
    take(found, file, sum);
    return;
  }
  if (!files.empty()) {
    found.hash = CheckResult::differs;
    found.detail = fs::path(files[0]).filename().string() +
                   " has changed: its sha256 is not the recorded one";
    return;
  }
  const std::string flag = found.note.role == "train" || found.note.role == "test"
                               ? "--" + found.note.role
                               : "--data";
  found.detail = fmt::format("{} is not here: give it with {} FILE", found.note.name, flag);
}

void require_role(const std::vector<FoundFile>& files, const char* role,
                  const std::string& given) {
  if (given.empty() || find_role(files, role) != nullptr) return;
  throw Error(ErrorKind::bad_option,
              fmt::format("--{} {}: the repair did not use such a file", role, given),
              fmt::format("leave --{} out", role));
}

}  // namespace

std::vector<FoundFile> find_files(const Receipt& receipt, const VerifyOptions& options) {
  std::vector<FoundFile> files;
  for (const DataNote& note : receipt.data()) files.emplace_back().note = note;
  require_role(files, "train", options.train);
  require_role(files, "test", options.test);
  for (FoundFile& found : files) {
    const std::string given = found.note.role == "train"  ? options.train
                              : found.note.role == "test" ? options.test
                                                          : "";
    if (!given.empty()) take(found, given, sha256_of(given));
  }
  std::vector<std::string> left;  // of --data, that have no recorded sha256
  for (const std::string& file : options.data) {
    const std::string sum = sha256_of(file);
    bool used = false;
    for (FoundFile& found : files) {
      if (found.usable || sum != found.note.sha256) continue;
      take(found, file, sum);
      used = true;
    }
    if (!used) left.push_back(file);
  }
  std::size_t next = 0;
  for (FoundFile& found : files) {
    const bool data = found.note.role.starts_with("edit") || found.note.role == "hold-out";
    if (found.usable) continue;
    if (data && next < left.size()) {
      take(found, left[next], sha256_of(left[next]));
      ++next;
    } else {
      look(receipt, options, found);
    }
  }
  if (next < left.size())
    throw Error(ErrorKind::bad_option,
                fmt::format("--data {}: the receipt has no such file", left[next]),
                "give the tables that the repair was made from");
  return files;
}

const FoundFile* find_role(const std::vector<FoundFile>& files, const std::string& role) {
  for (const FoundFile& found : files)
    if (found.note.role == role) return &found;
  return nullptr;
}

}  // namespace fmd::internal
