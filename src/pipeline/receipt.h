#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/verify.h"
#include "report/json.h"

namespace fmd {

// A receipt as it was read back. Names of OUT and its other files follow from its own, so
// that a folder can be moved.
struct Receipt {
  DebiasFiles files;
  Json json;
  std::string sha256_before, sha256_after;

  [[nodiscard]] std::string name() const { return files.receipt.string(); }
  [[nodiscard]] std::vector<DataNote> data() const;  // role, name, sha256, key
};

// `path` only gives the names. Throws Error(bad_option: another ending, bad_model: no
// receipt).
[[nodiscard]] Receipt parse_receipt(std::string_view text,
                                    const std::filesystem::path& path);
// Completes what a killed run left first. Throws that, and Error(cannot_read).
[[nodiscard]] Receipt read_receipt(const std::filesystem::path& path);

// The original's bytes, restored and compared with the receipt's checksum. Throws
// Error(bad_model, wrong_model, cannot_read).
[[nodiscard]] Bytes restore_original(const Receipt& receipt);

// A recorded table and the file that stands for it.
struct FoundFile {
  DataNote note;
  std::string file;     // empty: none; "data:..." for data sets by name
  bool usable = false;  // has the recorded contents, or was named in the options
  CheckResult hash = CheckResult::unchecked;
  std::string detail;
};
[[nodiscard]] std::vector<FoundFile> find_files(const Receipt& receipt,
                                                const VerifyOptions& options);
[[nodiscard]] const FoundFile* find_role(const std::vector<FoundFile>& files,
                                         const std::string& role);

}  // namespace fmd
