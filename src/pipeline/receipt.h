#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/pipeline/debias_options.h"
#include "fmd/pipeline/receipt.h"
#include "fmd/report/debias_report.h"
#include "report/json.h"

namespace fmd::internal {

// A receipt that was read back; receipt_json() in report/debias_report.cpp makes it. The
// names of OUT and its other files follow from its own name, so that a folder can be moved.
struct Receipt {
  DebiasFiles files;
  Json json;
  std::string sha256_before, sha256_after;

  [[nodiscard]] std::string name() const { return files.receipt.string(); }
  [[nodiscard]] std::vector<DataNote> data() const;  // role, name, sha256, key
};

// `path` only gives the names. Throws Error(bad_option: another ending, bad_model: not a
// receipt).
[[nodiscard]] Receipt parse_receipt(std::string_view text,
                                    const std::filesystem::path& path);
// First completes what a killed run left. Throws what parse_receipt() throws, and
// Error(cannot_read).
[[nodiscard]] Receipt read_receipt(const std::filesystem::path& path);

// The original's bytes, restored and compared with the receipt's checksum. Throws
// Error(bad_model, wrong_model, cannot_read).
[[nodiscard]] Bytes restore_original(const Receipt& receipt);

}  // namespace fmd::internal
